"""Writes golden values of every architecture from its formula, written down here in dense NumPy, float64.

    python scripts/golden_layers.py      # needs numpy

Files: crates/iglu/tests/golden/gat.txt (single attention layers: outputs, gradients of parameters and of the rows
heard) and networks.txt (a network of every architecture: logits, loss, gradients of all parameters). No gradient is
written down: derivatives are those of a complex step, f'(x) = Im f(x + ih) / h, exact to rounding.

The format is one `key value value ..` per line; the key `case` starts a new case. Inputs are multiples of 1/64, so
that they are exact in float32 too.
"""

from pathlib import Path

import numpy as np

GOLDEN = Path(__file__).resolve().parents[1] / "crates" / "iglu" / "tests" / "golden"
STEP = 1e-40

# Who speaks to whom: a hub (4), a triangle, a loop at 2, and a node (8) that nobody speaks to and that is silent.
N = 9
EDGES = [(0, 1), (1, 2), (2, 0), (2, 2), (3, 4), (5, 4), (6, 4), (7, 4), (0, 4), (4, 7), (7, 3), (1, 5), (2, 6)]
# The same edges by kind, and neighbours in latent space.
RELATIONS = [EDGES[::2], EDGES[1::2]]
LATENT = [[(0, 3), (4, 3), (5, 6), (1, 0)], [(2, 1), (7, 8), (3, 8), (6, 2), (5, 2)]]

FEATURES, HIDDEN, CLASSES = 3, 4, 3
TRAIN = [0, 2, 3, 4, 6, 8]
CLASS = [0, 1, 2, 2, 1, 0, 0, 1, 2]
INITIAL, THETA, DELTA = 0.25, 0.75, 1.5


def adjacency(edges, loops=False):
    """Row v has a 1 for everybody who speaks to v; loops of the graph itself are dropped."""
    a = np.zeros((N, N))
    for u, v in edges:
        if u != v:
            a[v, u] = 1
    return a + np.eye(N) if loops else a


def mean(a):
    degree = a.sum(1, keepdims=True)
    return np.divide(a, degree, out=np.zeros_like(a), where=degree > 0)


def sym():
    a = adjacency(EDGES, loops=True)
    s = 1 / np.sqrt(a.sum(1))
    return s[:, None] * a * s


# Functions that take complex arguments: branches go by the real part.


def leaky(x):
    return np.where(x.real > 0, x, 0.2 * x)


def elu(x):
    return np.where(x.real > 0, x, np.exp(np.where(x.real > 0, 0, x)) - 1)


ACTIVATIONS = {"elu": elu, "tanh": np.tanh, "none": lambda x: x}


def layer_norm(x, scale, offset):
    centred = x - x.mean(1, keepdims=True)
    return centred / np.sqrt((centred**2).mean(1, keepdims=True) + 1e-5) * scale + offset


def softmax(e, where):
    p = np.where(where, np.exp(e - np.where(where, e.real, -np.inf).max(-1, keepdims=True)), 0)
    return p / p.sum(-1, keepdims=True)


class Layer:
    """The parameters of one layer under the names they have in iglu, drawn where first asked for."""

    def __init__(self, params, k, rng):
        self.params, self.k, self.rng = params, k, rng

    def __call__(self, name, rows, cols):
        key = f"{self.k}.{name}"
        if key not in self.params:
            self.params[key] = np.round(self.rng.normal(size=(rows, cols)) * 32) / 64
        return self.params[key]

    def linear(self, x, name, width):
        return x @ self(name, x.shape[1], width)

    def bias(self, x, name=""):
        return x + self("b" + name, 1, x.shape[1])

    def norm(self, x, name=""):
        return layer_norm(x, 1 + self(f"norm{name}_scale", 1, x.shape[1]), self(f"norm{name}_offset", 1, x.shape[1]))

    def finish(self, x, f, name=""):
        """f(norm(x + b))."""
        return f(self.norm(self.bias(x, name), name))


def attention(e, x, heads, width):
    """sum_j softmax_j(leaky(a_own . H_i + a_other . H_j)) H_j, heads side by side; `width` columns each."""
    pattern = adjacency(EDGES, loops=True) > 0
    h = e.linear(x, "w", heads * width)
    own, other = e("a_own", 1, heads * width), e("a_other", 1, heads * width)
    parts = []
    for head in range(heads):
        at = slice(head * width, (head + 1) * width)
        score = leaky((h[:, at] @ own[0, at])[:, None] + (h[:, at] @ other[0, at])[None, :])
        parts.append(softmax(score, pattern) @ h[:, at])
    return parts


# One function per architecture: X^k from X^{k-1} and X^1.


def gcn(e, x, first, f):
    return e.finish(e.linear(sym() @ x, "w", HIDDEN), f)


def sage(e, x, first, f):
    return e.finish(e.linear(np.hstack([x, mean(adjacency(EDGES)) @ x]), "w", HIDDEN), f)


def saint(e, x, first, f):
    a = mean(adjacency(EDGES, loops=True))
    branch = lambda z, name: e.norm(f(e.bias(e.linear(z, "w" + name, HIDDEN), name)), name)
    return np.hstack([branch(a @ x, "_neigh"), branch(x, "_self")])


def gin(e, x, first, f):
    h = adjacency(EDGES) @ x + (1 + e("eps", 1, 1)) * x
    h = e.finish(e.linear(h, "w1", HIDDEN), f, "1")
    return e.finish(e.linear(h, "w2", HIDDEN), f, "2")


def gat(e, x, first, f):
    return e.finish(np.hstack(attention(e, x, 2, HIDDEN // 2)), f)


def embed(e, x, f):
    return e.finish(e.linear(x, "w", HIDDEN), f)


def gcnii(e, x, first, f):
    if first is None:
        return embed(e, x, f)
    h = (1 - INITIAL) * (sym() @ x) + INITIAL * first
    beta = np.log(THETA / (e.k - 1) + 1)
    return e.finish((1 - beta) * h + beta * e.linear(h, "w", HIDDEN), f)


def appnp(e, x, first, f):
    return embed(e, x, f) if first is None else (1 - INITIAL) * (sym() @ x) + INITIAL * first


def pna(e, x, first, f):
    z = np.zeros((N, 4 * x.shape[1]), x.dtype)
    s, inverse = np.zeros((N, 1)), np.zeros((N, 1))
    for v, row in enumerate(adjacency(EDGES) > 0):
        if not row.any():
            continue
        said = x[row]
        pick = lambda at: np.take_along_axis(said, at[None, :], 0)[0]
        largest, smallest = pick(said.real.argmax(0)), pick(said.real.argmin(0))
        deviation = np.sqrt(((said - said.mean(0)) ** 2).mean(0) + 1e-5)
        z[v] = np.concatenate([said.mean(0), largest, smallest, deviation])
        s[v] = np.log(row.sum() + 1) / DELTA
        inverse[v] = 1 / s[v]
    scaled = s * e.linear(z, "w_amplify", HIDDEN) + inverse * e.linear(z, "w_attenuate", HIDDEN)
    return e.finish(e.linear(x, "w_self", HIDDEN) + e.linear(z, "w", HIDDEN) + scaled, f)


def rgcn(e, x, first, f):
    parts = [mean(adjacency(edges)) @ x for edges in RELATIONS + LATENT]
    return e.finish(e.linear(np.hstack([x, *parts]), "w", HIDDEN), f)


def virtual(e, x, first, f):
    node = lambda edges, name: f(e.linear(mean(adjacency(edges)) @ x, name, HIDDEN))
    all = [node(edges, "l_graph") for edges in RELATIONS] + [node(edges, "l_latent") for edges in LATENT]
    return e.finish(e.linear(sum(all) / len(RELATIONS), "w", HIDDEN), f)


def linear(e, x, first, f):
    return embed(e, x, f)


# name: (layer, number of layers, activation)
NETWORKS = {
    "gcn": (gcn, 2, "tanh"),
    "sage": (sage, 2, "tanh"),
    "saint": (saint, 2, "tanh"),
    "gin": (gin, 2, "tanh"),
    "gat": (gat, 2, "elu"),
    "gcnii": (gcnii, 3, "tanh"),
    "appnp": (appnp, 3, "elu"),
    "pna": (pna, 2, "tanh"),
    "rgcn": (rgcn, 2, "tanh"),
    "virtual": (virtual, 2, "elu"),
    "linear": (linear, 2, "tanh"),
}


def logits(name, x, params, rng=None):
    make, depth, activation = NETWORKS[name]
    first = None
    for k in range(1, depth + 1):
        x = make(Layer(params, k, rng), x, first, ACTIVATIONS[activation])
        first = x if k == 1 else first
    top = Layer(params, depth + 1, rng)
    return top.bias(top.linear(x, "w", CLASSES))


def loss(z):
    z = z - z.real.max(1, keepdims=True)
    log_p = z - np.log(np.exp(z).sum(1, keepdims=True))
    return -np.mean([log_p[v, CLASS[v]] for v in TRAIN])


def gradients(f, arrays):
    """Of a function of a dictionary of arrays, by complex steps."""
    out = {}
    for key, array in arrays.items():
        out[key] = np.zeros(array.shape)
        for i in np.ndindex(array.shape):
            moved = {k: a.astype(complex) for k, a in arrays.items()}
            moved[key][i] += 1j * STEP
            out[key][i] = f(moved).imag / STEP
    return out


def line(key, values):
    return " ".join([key, *(repr(float(v)) for v in np.asarray(values).reshape(-1))])


def pairs(key, edges):
    return " ".join([key, *(f"{u} {v}" for u, v in edges)])


def grid(rng, *shape):
    return np.round(rng.normal(size=shape) * 64) / 64


def stored(params):
    """As iglu has them: scales of norms are 1 plus what is drawn here."""
    return {k: a + 1 if k.endswith("_scale") else a for k, a in params.items()}


def network_case(name, rng):
    x, params = grid(rng, N, FEATURES), {}
    z = logits(name, x, params, rng)
    grads = gradients(lambda p: loss(logits(name, x.astype(complex), p)), params)
    _, depth, activation = NETWORKS[name]
    return [
        f"case {name}",
        f"layers {depth}",
        f"activation {activation}",
        line("x", x),
        *(line(f"p{k}", a) for k, a in stored(params).items()),
        line("logits", z),
        line("loss", loss(z)),
        *(line(f"g{k}", g) for k, g in grads.items()),
    ]


def attention_case(name, rng, heads, averaged, activation, norm, rows):
    """One layer of 5 -> 6 columns; the objective is sum over rows of <c, y> + |y|^2 / 2."""
    d_in, width = 5, 6
    x, c = grid(rng, N, d_in), grid(rng, N, width)

    def output(arrays):
        e = Layer(arrays, 2, rng)
        parts = attention(e, arrays["x"], heads, width if averaged else width // heads)
        h = sum(parts) / heads if averaged else np.hstack(parts)
        h = e.bias(h)
        h = e.norm(h) if norm else h
        return ACTIVATIONS[activation](h)

    def value(arrays):
        y = output(arrays)[rows]
        return (c[rows] * y).sum() + (y**2).sum() / 2

    arrays = {"x": x}
    y = output(arrays)[rows]
    grads = gradients(value, arrays)
    params = stored({k: a for k, a in arrays.items() if k != "x"})
    return [
        f"case {name}",
        f"heads {heads}",
        f"combine {'sum' if averaged else 'concat'}",
        f"activation {activation}",
        f"norm {'layer' if norm else 'none'}",
        f"rows {' '.join(map(str, rows))}",
        line("x", x),
        line("c", c),
        *(line(k.removeprefix("2."), a) for k, a in params.items()),
        line("y", y),
        line("value", value(arrays)),
        *(line("d_" + k.removeprefix("2."), g) for k, g in grads.items()),
    ]


def write(name, head, cases):
    text = "\n".join("\n".join(lines) for lines in [head, *cases])
    (GOLDEN / name).write_text(f"# Written by scripts/golden_layers.py with NumPy.\n{text}\n")


def main():
    rng = np.random.default_rng(20)
    everybody, some = list(range(N)), [1, 4, 6, 8]
    graph = ["case graph", f"nodes {N}", pairs("edges", EDGES)]
    write("gat.txt", graph, [
        attention_case("two-heads", rng, 2, False, "elu", False, everybody),
        attention_case("two-heads-some-rows", rng, 2, False, "elu", False, some),
        attention_case("averaged", rng, 3, True, "none", False, everybody),
        attention_case("averaged-some-rows", rng, 3, True, "tanh", True, some),
    ])
    relations = [pairs("relation", edges) for edges in RELATIONS] + [pairs("latent", edges) for edges in LATENT]
    settings = [
        line("initial", INITIAL), line("theta", THETA), line("degree_scale", DELTA), f"hidden {HIDDEN}",
        f"classes {CLASSES}", f"train {' '.join(map(str, TRAIN))}", f"class {' '.join(map(str, CLASS))}",
    ]
    write("networks.txt", graph + relations + settings, [network_case(name, rng) for name in NETWORKS])


if __name__ == "__main__":
    main()
