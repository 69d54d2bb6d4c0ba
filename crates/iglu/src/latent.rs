//! A plane for a graph, and the neighbourhoods it gives (Geom-GCN, Pei et al. 2020): who lies near in the plane, and
//! in which quadrant seen from a node.
//!
//! The plane is landmark Isomap: distances in hops to a few landmarks, laid out by classical scaling (de Silva and
//! Tenenbaum 2004). Everything is decided by the graph alone, without random numbers.

use crate::config::{NetworkConfig, Setting};
use crate::{Dataset, EdgeOptions, Error, Graph, Relation, Result};
use rayon::prelude::*;
use std::collections::VecDeque;

/// Landmarks, at most.
const LANDMARKS: usize = 48;
/// Latent neighbours of a node, at most.
const MOST_NEAR: usize = 32;
/// How far along the curve near ones are looked for, in each direction.
const WINDOW: usize = 64;

/// Whether a network has layers of virtual nodes.
fn wants_plane(network: &NetworkConfig) -> bool {
    let own = network.each.iter().filter_map(|e| e.layer.as_deref());
    own.chain([network.layer.as_str()]).any(|name| name == "virtual")
}

/// The dataset with latent neighbourhoods, where a network wants some and the data has none.
pub fn complete(network: &NetworkConfig, setting: Setting, data: &Dataset) -> Result<Option<Dataset>> {
    if !wants_plane(network) || data.relations.iter().any(|r| r.latent) {
        return Ok(None);
    }
    if setting == Setting::Inductive {
        let found = "inductive, but the plane of virtual nodes is laid out from the whole graph";
        return Err(Error::usage(
            "train.setting",
            found,
            "use transductive, or give the data latent neighbours of its own",
        ));
    }
    with_plane(data).map(Some)
}

/// The dataset with eight relations: four quadrants in the graph, four in the plane. Ties are broken by the nodes'
/// numbers in the file, so that the same data has the same plane in any order.
pub fn with_plane(data: &Dataset) -> Result<Dataset> {
    if let Some(order) = &data.order {
        return Ok(with_plane(&data.clone().in_file_order())?.reordered(order));
    }
    let place = plane(&data.graph);
    let mut out = data.clone();
    out.relations = quadrants("graph", &edges(&data.graph), &place, false)?;
    out.relations.extend(quadrants("latent", &near(&data.graph, &place), &place, true)?);
    Ok(out)
}

/// Every message `[from, to]` of a graph.
fn edges(graph: &Graph) -> Vec<[u32; 2]> {
    let of = |v: usize| graph.neighbours(v).iter().map(move |&u| [u, v as u32]);
    (0..graph.nodes()).flat_map(of).collect()
}

/// The messages by where the sender lies, seen from the receiver.
fn quadrants(space: &str, edges: &[[u32; 2]], place: &[[f64; 2]], latent: bool) -> Result<Vec<Relation>> {
    let quadrant = |[from, to]: [u32; 2]| {
        let ([x, y], [a, b]) = (place[from as usize], place[to as usize]);
        usize::from(x > a) + 2 * usize::from(y > b)
    };
    ["lower left", "lower right", "upper left", "upper right"]
        .into_iter()
        .enumerate()
        .map(|(q, name)| {
            let mine: Vec<[u32; 2]> = edges.iter().copied().filter(|&e| quadrant(e) == q).collect();
            let options = EdgeOptions { directed: true, ..Default::default() };
            let graph = Graph::from_edges(place.len(), &mine, options)?;
            Ok(Relation { name: format!("{space}: {name}"), graph, latent })
        })
        .collect()
}

/// Hops from a node to all others; `u32::MAX` where there is no way. Directions do not matter.
fn hops(both: [&Graph; 2], from: usize) -> Vec<u32> {
    let mut out = vec![u32::MAX; both[0].nodes()];
    let mut next = VecDeque::from([from]);
    out[from] = 0;
    while let Some(v) = next.pop_front() {
        for &u in both.iter().flat_map(|g| g.neighbours(v)) {
            if out[u as usize] == u32::MAX {
                out[u as usize] = out[v] + 1;
                next.push_back(u as usize);
            }
        }
    }
    out
}

/// Two coordinates for every node.
fn plane(graph: &Graph) -> Vec<[f64; 2]> {
    let n = graph.nodes();
    if n == 0 {
        return Vec::new();
    }
    let transposed = if graph.directed() { graph.transpose() } else { graph.clone() };
    let both = [graph, &transposed];
    // The busiest node first, then always the one farthest from all landmarks.
    let busiest = (0..n).max_by_key(|&v| (graph.neighbours(v).len(), usize::MAX - v)).unwrap_or(0);
    let mut landmarks = vec![busiest];
    let mut distances = vec![hops(both, busiest)];
    let mut closest = distances[0].clone();
    while landmarks.len() < LANDMARKS.min(n) {
        let reachable = |v: usize| if closest[v] == u32::MAX { 0 } else { closest[v] };
        let farthest = (0..n).max_by_key(|&v| (reachable(v), usize::MAX - v)).unwrap_or(0);
        if reachable(farthest) == 0 {
            break;
        }
        let d = hops(both, farthest);
        closest.iter_mut().zip(&d).for_each(|(c, d)| *c = (*c).min(*d));
        landmarks.push(farthest);
        distances.push(d);
    }
    scale(&landmarks, &distances, n)
}

/// Classical scaling of the landmarks, and everybody else by the distances to them.
fn scale(landmarks: &[usize], distances: &[Vec<u32>], n: usize) -> Vec<[f64; 2]> {
    let count = landmarks.len();
    let longest = distances.iter().flatten().filter(|d| **d != u32::MAX).max().copied().unwrap_or(0);
    let square =
        |d: u32| if d == u32::MAX { 2.25 * f64::from(longest).powi(2) } else { f64::from(d).powi(2) };
    let mut b = vec![vec![0.0; count]; count];
    for (i, row) in b.iter_mut().enumerate() {
        row.iter_mut().zip(landmarks).for_each(|(b, &l)| *b = square(distances[i][l]));
    }
    let means: Vec<f64> = b.iter().map(|row| row.iter().sum::<f64>() / count as f64).collect();
    let mean = means.iter().sum::<f64>() / count as f64;
    for i in 0..count {
        for j in 0..count {
            b[i][j] = -0.5 * (b[i][j] - means[i] - means[j] + mean);
        }
    }
    let first = leading(&b, None);
    let second = first.as_ref().and_then(|f| leading(&b, Some(f)));
    let coordinate = |axis: &Option<(f64, Vec<f64>)>, v: usize| {
        axis.as_ref().map_or(0.0, |(value, vector)| {
            let along = |i: usize| vector[i] * (square(distances[i][v]) - means[i]);
            -0.5 * (0..count).map(along).sum::<f64>() / value.sqrt()
        })
    };
    (0..n).into_par_iter().map(|v| [coordinate(&first, v), coordinate(&second, v)]).collect()
}

/// The largest positive eigenvalue with its vector, orthogonal to a known one; `None` where none is left.
fn leading(b: &[Vec<f64>], known: Option<&(f64, Vec<f64>)>) -> Option<(f64, Vec<f64>)> {
    const STEPS: usize = 300;
    let n = b.len();
    // Shifted so that the largest eigenvalue is also the largest in absolute value.
    let shift = b.iter().map(|row| row.iter().map(|v| v.abs()).sum::<f64>()).fold(0.0, f64::max);
    let mut x: Vec<f64> = (0..n).map(|i| 1.0 + (i * 7 % 11) as f64).collect();
    let mut value = 0.0;
    for _ in 0..STEPS {
        if let Some((_, known)) = known {
            let along: f64 = x.iter().zip(known).map(|(a, b)| a * b).sum();
            x.iter_mut().zip(known).for_each(|(x, k)| *x -= along * k);
        }
        let length = x.iter().map(|v| v * v).sum::<f64>().sqrt();
        if length < 1e-12 {
            return None;
        }
        x.iter_mut().for_each(|v| *v /= length);
        let product: Vec<f64> = b.iter().map(|row| row.iter().zip(&x).map(|(a, b)| a * b).sum()).collect();
        value = x.iter().zip(&product).map(|(a, b)| a * b).sum();
        x = product.iter().zip(&x).map(|(p, x)| p + shift * x).collect();
    }
    let length = x.iter().map(|v| v * v).sum::<f64>().sqrt();
    x.iter_mut().for_each(|v| *v /= length);
    (value > 1e-9 * shift.max(1.0)).then_some((value, x))
}

/// Bits of two coordinates, one after the other: neighbours along this curve lie near each other in the plane.
fn curve([x, y]: [u32; 2]) -> u64 {
    let spread = |v: u32| (0..16).fold(0_u64, |sum, bit| sum | (u64::from(v >> bit & 1) << (2 * bit)));
    spread(x) | spread(y) << 1
}

/// Messages from the nodes that lie nearest in the plane: for each node as many as it has neighbours on average.
fn near(graph: &Graph, place: &[[f64; 2]]) -> Vec<[u32; 2]> {
    let n = graph.nodes();
    let wanted = (graph.entries() as f64 / n.max(1) as f64).round().clamp(1.0, MOST_NEAR as f64) as usize;
    let bound = |axis: usize, better: fn(f64, f64) -> f64, start: f64| {
        place.iter().map(|p| p[axis]).fold(start, better)
    };
    let low = [bound(0, f64::min, f64::INFINITY), bound(1, f64::min, f64::INFINITY)];
    let high = [bound(0, f64::max, f64::NEG_INFINITY), bound(1, f64::max, f64::NEG_INFINITY)];
    let cell = |p: [f64; 2]| {
        std::array::from_fn(|i| ((p[i] - low[i]) / (high[i] - low[i]).max(1e-12) * 65_535.0) as u32)
    };
    let mut order: Vec<(u64, u32)> = (0..n).map(|v| (curve(cell(place[v])), v as u32)).collect();
    order.par_sort_unstable();
    let of = |at: usize| {
        let v = order[at].1;
        let [a, b] = place[v as usize];
        let window = &order[at.saturating_sub(WINDOW)..(at + WINDOW + 1).min(n)];
        let mut others: Vec<(f64, u32)> = window
            .iter()
            .filter(|(_, u)| *u != v)
            .map(|&(_, u)| {
                let [x, y] = place[u as usize];
                ((x - a).powi(2) + (y - b).powi(2), u)
            })
            .collect();
        others.sort_unstable_by(|p, q| p.0.total_cmp(&q.0).then(p.1.cmp(&q.1)));
        others.truncate(wanted);
        others.into_iter().map(move |(_, u)| [u, v]).collect::<Vec<_>>()
    };
    (0..n).into_par_iter().flat_map_iter(of).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// On a grid of streets, the plane has the grid's shape: places differ as much as the hops between them.
    #[test]
    fn a_grid_lies_flat() {
        let side = 12_u32;
        let at = |x: u32, y: u32| y * side + x;
        let right = (0..side - 1).flat_map(|x| (0..side).map(move |y| [at(x, y), at(x + 1, y)]));
        let up = (0..side).flat_map(|x| (0..side - 1).map(move |y| [at(x, y), at(x, y + 1)]));
        let edges: Vec<[u32; 2]> = right.chain(up).collect();
        let graph = Graph::from_edges((side * side) as usize, &edges, EdgeOptions::default()).unwrap();
        let place = plane(&graph);
        let (mut xy, mut xx, mut yy) = (0.0, 0.0, 0.0);
        for v in 0..graph.nodes() {
            for (u, hop) in hops([&graph, &graph], v).into_iter().enumerate() {
                let d = ((place[v][0] - place[u][0]).powi(2) + (place[v][1] - place[u][1]).powi(2)).sqrt();
                let (d, hop) = (d, f64::from(hop));
                (xy, xx, yy) = (xy + d * hop, xx + d * d, yy + hop * hop);
            }
        }
        assert!(xy / (xx * yy).sqrt() > 0.97, "places follow hops: {}", xy / (xx * yy).sqrt());
        let near = near(&graph, &place);
        let far = near.iter().filter(|[u, v]| hops([&graph, &graph], *u as usize)[*v as usize] > 3).count();
        assert!(far * 10 < near.len(), "{far} of {} near pairs are far apart", near.len());
    }

    #[test]
    fn relations_cut_the_edges_and_survive_odd_graphs() {
        for edges in [&[][..], &[[0, 1]], &[[0, 1], [2, 3], [3, 4], [4, 2]]] {
            let graph = Graph::from_edges(6, edges, EdgeOptions::default()).unwrap();
            let place = plane(&graph);
            let parts = quadrants("graph", &super::edges(&graph), &place, false).unwrap();
            assert_eq!(parts.iter().map(|r| r.graph.entries()).sum::<usize>(), graph.entries());
            assert!(place.iter().flatten().all(|v| v.is_finite()));
            assert_eq!(near(&graph, &place).len(), 6);
        }
    }
}
