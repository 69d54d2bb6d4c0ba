//! Inference: logits and embeddings of every node, a layer at a time, and what a network says with less of its graph.

use super::{Layer, Network, Sight};
use crate::program::{Call, Dropping, Input, Job, Norms, Program, RowSet, Source};
use crate::side::Side;
use crate::table::with_table;
use crate::{Interrupt, Mat, Result, Scratch, Table};

impl Network {
    /// Logits of every node by exact layer-wise inference: each layer for all nodes before the next.
    pub fn infer(&self, side: &Side) -> Mat {
        self.embed(side, self.depth())
    }

    /// The same, with an error as soon as somebody asks to stop.
    pub fn infer_until(&self, side: &Side, interrupt: &Interrupt) -> Result<Mat> {
        self.embed_until(side, self.depth(), &Scope::default(), interrupt)
    }

    /// The same rows for the nodes that `reach` ([`Network::reach`]) ends with, and nothing that these do not need; rows of
    /// other nodes are zeros. Embeddings are made in buffers of `scratch`, and given back.
    pub fn infer_for(
        &self,
        side: &Side,
        reach: &[Vec<u32>],
        scratch: &Scratch,
        interrupt: &Interrupt,
    ) -> Result<Mat> {
        self.embed_until(side, self.depth(), &Scope { reach: Some(reach), scratch: Some(scratch) }, interrupt)
    }

    /// Logits of some nodes of a side as if most layers saw no edges; batch norms take the statistics of these rows.
    pub fn infer_without(&self, sight: Sight, side: &Side, nodes: &[u32]) -> Mat {
        assert_ne!(sight, Sight::Graph, "that is inference");
        let program = self.chain(1, sight);
        let inputs = inputs(
            &program,
            side,
            |_| unreachable!("a chain makes its own embeddings"),
            |_, _| unreachable!("and nothing is aggregated above the first layer"),
        );
        let job = Job::new(&program, inputs, None);
        let params = self.params_from(1);
        let call = Call { params: &params, norms: Norms::Batch, dropping: Dropping::Off };
        let mut out = Mat::zeros(nodes.len(), program.width());
        job.forward(&call, RowSet::List(nodes), &mut out);
        out
    }

    /// `X^k` of every node.
    pub fn embed(&self, side: &Side, k: usize) -> Mat {
        self.embed_until(side, k, &Scope::default(), &Interrupt::new()).expect("nobody can ask to stop")
    }

    /// `X^to`; asks before every layer whether to stop.
    fn embed_until(&self, side: &Side, to: usize, scope: &Scope<'_>, interrupt: &Interrupt) -> Result<Mat> {
        let mut known: Vec<Table> = (0..=to).map(|_| Table::default()).collect();
        for layer in &self.layers[..to] {
            interrupt.check()?;
            let mut z = Vec::new();
            if layer.k > 1 && !layer.look.is_product() {
                side.aggregate(layer, &known[layer.k - 1], &mut z);
                interrupt.check()?;
            }
            // Products with the operator are made block by block: two embeddings are all there is.
            let aggregate = |k: usize, part: usize| match z.get(part) {
                Some(z) => z.into(),
                None => Input::Product(side.operator(layer, part).view(), &known[k - 1]),
            };
            let inputs = inputs(&layer.program, side, |m| &known[m], aggregate);
            let (done, count) = (layer.k, side.nodes());
            // Rows that nobody makes are zeros in what is handed out, and never read before that.
            let mut out = match scope.scratch.filter(|_| done < to) {
                Some(scratch) => Table::take(scratch, layer.storage, count, layer.width()),
                None => Table::zeros(layer.storage, count, layer.width()),
            };
            layer_output(layer, side, inputs, scope.reach.map(|lists| &lists[done][..]), &mut out);
            known[done] = out;
            for m in 1..done {
                if !self.layers[done..to].iter().any(|l| l.reads(m)) {
                    scope.forget(std::mem::take(&mut known[m]));
                }
            }
        }
        let last = known.pop().expect("one place for each layer").into_full();
        known.into_iter().for_each(|table| scope.forget(table));
        Ok(last)
    }
}

/// For whom embeddings are made, and in what memory: for all nodes, in memory of their own, unless said otherwise.
#[derive(Default)]
struct Scope<'a> {
    /// The nodes of every layer.
    reach: Option<&'a [Vec<u32>]>,
    /// Where buffers come from and go to.
    scratch: Option<&'a Scratch>,
}

impl Scope<'_> {
    /// Gives back what nobody reads any more.
    fn forget(&self, table: Table) {
        if let Some(scratch) = self.scratch {
            table.give(scratch);
        }
    }
}

/// What the inputs of a program hold: constants of the side, `X^m` from `x`, `Z^k` by its parts from `z`.
pub(crate) fn inputs<'a>(
    program: &Program,
    side: &'a Side,
    x: impl Fn(usize) -> &'a Table,
    z: impl Fn(usize, usize) -> Input<'a>,
) -> Vec<Input<'a>> {
    let lookup = |source: Source| match source {
        Source::Aggregate { layer: 1, part } => side.first(part),
        Source::Aggregate { layer, part } => z(layer, part),
        Source::Embedding(0) | Source::Attended { layer: 1 } => side.features(),
        Source::Embedding(m) => x(m).into(),
        Source::Attended { layer } => x(layer - 1).into(),
        Source::Degree(scale) => side.degree(scale),
    };
    program.inputs().map(lookup).collect()
}

/// Output of one layer for all nodes, or for these.
fn layer_output(layer: &Layer, side: &Side, inputs: Vec<Input<'_>>, nodes: Option<&[u32]>, out: &mut Table) {
    let job = Job::new(&layer.program, inputs, side.pattern());
    let params = layer.param_refs();
    let call = Call { params: &params, norms: Norms::Stored(&layer.norms), dropping: Dropping::Off };
    with_table!(out, m => match nodes {
        Some(nodes) => job.forward_at(&call, nodes, m),
        None => job.forward(&call, RowSet::All(side.nodes()), m),
    });
}
