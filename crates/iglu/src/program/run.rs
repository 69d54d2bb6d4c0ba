//! Programs over many rows: blocks spread over the pool, private gradient accumulators, ordered reduction.
//!
//! Rows are cut into blocks of a size that depends on the program only; parameter gradients are accumulated in
//! at most [`Lanes::MOST`] private copies ([`Lanes`]), each fed by a fixed range of blocks, and added up in order. Results so do
//! not depend on the number of threads.

mod outputs;

use super::attend::{Attended, Heard};
use super::exec::{Context, Dropping, GradSums, Workspace};
use super::kept::{self, Kept};
use super::lanes::Lanes;
use super::norms::{NormState, added};
use super::wanted::{Piece, Put, Wanted};
use super::{Op, Program, Value};
use crate::kernels::gemm::Into;
use crate::kernels::spmm::SparseView;
use crate::kernels::stored::Bf16;
use crate::kernels::{Rows, RowsMut};
use crate::pattern::Pattern;
use crate::{Features, Mat, SparseMat, Table};
use rayon::prelude::*;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Rows of an input, indexed by node.
#[derive(Clone, Copy)]
pub enum Input<'a> {
    /// Dense rows.
    Dense(&'a Mat),
    /// Dense rows of rounded numbers.
    Half(&'a Mat<Bf16>),
    /// Sparse rows.
    Sparse(&'a SparseMat),
    /// Rows of `A X`, made where they are needed and rounded as `X` is.
    Product(SparseView<'a>, &'a Table),
    /// The same, with the rows of some nodes kept.
    Partly(Partly<'a>),
    /// Dense rows of so many columns that whoever wants their gradient lends ([`super::Put::InExchange`]).
    Lent(usize),
}

/// Rows of `A X` that are kept for some nodes, and made where they are needed for the others.
#[derive(Clone, Copy)]
pub struct Partly<'a> {
    /// The rows that are kept.
    pub rows: &'a Table,
    /// Which of them is that of a node, or [`NOWHERE`].
    pub places: &'a [u32],
    /// What the others are made of.
    pub a: SparseView<'a>,
    /// See there.
    pub x: &'a Table,
}

/// The place of a row that is not kept.
pub const NOWHERE: u32 = u32::MAX;

impl<'a> From<&'a Table> for Input<'a> {
    fn from(table: &'a Table) -> Self {
        match table {
            Table::Full(m) => Self::Dense(m),
            Table::Half(m) => Self::Half(m),
        }
    }
}

impl<'a> From<&'a Features> for Input<'a> {
    fn from(features: &'a Features) -> Self {
        match features {
            Features::Dense(m) => Self::Dense(m),
            Features::Sparse(m) => Self::Sparse(m),
        }
    }
}

/// The nodes of a pass.
#[derive(Debug, Clone, Copy)]
pub enum RowSet<'a> {
    /// 0..n.
    All(usize),
    /// These.
    List(&'a [u32]),
}

impl RowSet<'_> {
    /// How many.
    pub fn len(&self) -> usize {
        match self {
            Self::All(n) => *n,
            Self::List(ids) => ids.len(),
        }
    }

    /// None.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn fill(&self, span: Range<usize>, ids: &mut Vec<u32>) {
        ids.clear();
        match self {
            Self::All(_) => ids.extend(span.start as u32..span.end as u32),
            Self::List(list) => ids.extend_from_slice(&list[span]),
        }
    }
}

/// What is minimised at the output of a program.
pub trait Objective: Sync {
    /// Value of some rows, and its gradient written to `d`; `ids` names the nodes, the first of them standing at
    /// position `first` of the pass.
    fn block(&self, first: usize, ids: &[u32], y: Rows<'_>, d: &mut RowsMut<'_>) -> f64;
}

/// Which statistics batch norms use.
#[derive(Clone, Copy)]
pub enum Norms<'a> {
    /// Those of the rows of the call; gradients go through them.
    Batch,
    /// The same, which somebody has made already.
    Known(&'a [NormState]),
    /// These, as constants.
    Stored(&'a [NormState]),
}

/// What changes from call to call.
#[derive(Clone, Copy)]
pub struct Call<'a> {
    /// Parameters, in the program's order.
    pub params: &'a [&'a Mat],
    /// Batch norm statistics.
    pub norms: Norms<'a>,
    /// Dropout.
    pub dropping: Dropping,
}

/// A program bound to its inputs.
pub struct Job<'a> {
    pub(super) program: &'a Program,
    inputs: Vec<Input<'a>>,
    /// The neighbours' program, and who listens to whom.
    neighbours: Option<(Box<Job<'a>>, &'a Pattern)>,
    pool: Mutex<Vec<Workspace<'a>>>,
    /// Calls so far.
    calls: AtomicU64,
}

/// What a gradient computation goes over, and what it minimises.
#[derive(Clone, Copy)]
pub(super) struct Pass<'c> {
    pub(super) call: &'c Call<'c>,
    pub(super) rows: RowSet<'c>,
    pub(super) objective: &'c dyn Objective,
    /// What attention has made of the rows.
    pub(super) attended: Option<&'c Mat>,
}

/// The parts of a gradient computation that stay equal over its blocks.
struct Sweep<'c> {
    context: Context<'c>,
    rows: RowSet<'c>,
    live: Vec<bool>,
    attended: Option<&'c Mat>,
}

impl<'a> Job<'a> {
    /// Binds inputs in the order of [`Program::inputs`]; for attended rows those of the neighbours. Programs with
    /// attention need a pattern.
    pub fn new(program: &'a Program, inputs: Vec<Input<'a>>, pattern: Option<&'a Pattern>) -> Self {
        assert_eq!(inputs.len(), program.raw.inputs.len(), "one source of rows per input");
        let attention = program.raw.attention.as_deref();
        for (i, input) in inputs.iter().enumerate() {
            let width = match input {
                Input::Dense(m) => m.cols(),
                Input::Half(m) => m.cols(),
                Input::Sparse(m) => m.cols(),
                Input::Product(_, x) => x.cols(),
                Input::Partly(p) => p.rows.cols(),
                Input::Lent(cols) => *cols,
            };
            assert_eq!(width, program.given_width(i), "width of input {i}");
        }
        let neighbours = attention.map(|a| {
            let pattern = pattern.expect("attention needs to know who listens to whom");
            (Box::new(Self::new(&a.rows, vec![inputs[a.input]], None)), pattern)
        });
        Self { program, inputs, neighbours, pool: Mutex::default(), calls: AtomicU64::default() }
    }

    /// The attended rows of a pass, for programs that have any.
    fn attend(&self, call: &Call<'_>, rows: RowSet<'_>) -> Option<Attended<'a>> {
        let (job, pattern) = self.neighbours.as_ref()?;
        let attention = self.program.raw.attention.as_ref().expect("neighbours are there for attention");
        Some(attention.forward(job, pattern, call, rows))
    }

    fn pool(&self) -> MutexGuard<'_, Vec<Workspace<'a>>> {
        self.pool.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A workspace that this worker had before, since that lies in its core's caches; else any other, else a new one.
    fn workspace(&self) -> Workspace<'a> {
        let worker = rayon::current_thread_index();
        let mut pool = self.pool();
        let found = pool.iter().rposition(|ws| ws.worker == worker).or_else(|| pool.len().checked_sub(1));
        let taken = found.map(|at| pool.swap_remove(at));
        drop(pool);
        let mut ws = taken.unwrap_or_else(|| Workspace::new(self.program));
        ws.worker = worker;
        ws
    }

    /// Runs `work` with a workspace whose inputs hold the rows of `span`.
    fn with_block<T>(
        &self,
        rows: RowSet<'_>,
        span: Range<usize>,
        dropping: Dropping,
        attended: Option<&Mat>,
        work: impl FnOnce(&mut Workspace<'a>) -> T,
    ) -> T {
        let mut ws = self.open_block(rows, span, dropping, attended);
        let out = work(&mut ws);
        self.pool().push(ws);
        out
    }

    /// A workspace whose inputs hold the rows of `span`.
    pub(super) fn open_block(
        &self,
        rows: RowSet<'_>,
        span: Range<usize>,
        dropping: Dropping,
        attended: Option<&Mat>,
    ) -> Workspace<'a> {
        let mut ws = self.workspace();
        rows.fill(span.clone(), &mut ws.ids);
        ws.begin();
        let made = self.program.raw.attention.as_ref().map(|a| a.input);
        for (i, input) in self.inputs.iter().enumerate() {
            if made == Some(i) {
                ws.bind_positions(i, attended.expect("attended rows were made for the pass"), span.clone());
                continue;
            }
            match (*input, rows) {
                (Input::Sparse(m), _) => ws.bind_sparse(i, m),
                (Input::Dense(m), RowSet::All(_)) if dropping == Dropping::Off => {
                    ws.bind_direct(i, &m.data()[span.start * m.cols()..span.end * m.cols()]);
                }
                (Input::Dense(m), _) => ws.bind_gathered(i, m),
                (Input::Half(m), _) => ws.bind_gathered(i, m),
                (Input::Product(a, x), _) => ws.bind_product(i, a, x),
                (Input::Partly(from), _) => ws.bind_partly(i, from),
                (Input::Lent(_), _) => {}
            }
        }
        ws
    }

    fn blocks(&self, rows: RowSet<'_>) -> usize {
        rows.len().div_ceil(self.program.block(rows.len()))
    }

    pub(super) fn span(&self, rows: RowSet<'_>, block: usize) -> Range<usize> {
        let size = self.program.block(rows.len());
        block * size..((block + 1) * size).min(rows.len())
    }

    /// Value of an objective, without gradients.
    pub fn value(&self, call: &Call<'_>, rows: RowSet<'_>, objective: &dyn Objective) -> f64 {
        let attended = self.attend(call, rows);
        let attended = attended.as_ref().map(|a| &a.z);
        let states = self.states_of(call, rows, attended);
        let context = self.context(call, &states);
        let one = |b: usize| {
            self.with_block(rows, self.span(rows, b), call.dropping, attended, |ws| {
                context.forward(ws, 0..self.program.raw.ops.len());
                self.objective(ws, self.span(rows, b).start, objective)
            })
        };
        (0..self.blocks(rows)).into_par_iter().map(one).collect::<Vec<f64>>().iter().sum()
    }

    /// Value of an objective, its parameter gradients into `lanes`.
    pub fn gradient(
        &self,
        call: &Call<'_>,
        rows: RowSet<'_>,
        objective: &dyn Objective,
        lanes: &mut Lanes,
    ) -> f64 {
        self.gradients(call, rows, objective, Some(lanes), &mut [])
    }

    /// Value of an objective with any of its gradients: parameters into `lanes`, and those that are `wanted`.
    pub fn gradients(
        &self,
        call: &Call<'_>,
        rows: RowSet<'_>,
        objective: &dyn Objective,
        lanes: Option<&mut Lanes>,
        wanted: &mut [Wanted<'_>],
    ) -> f64 {
        self.gradients_heard(call, rows, objective, lanes, wanted, None)
    }

    /// As [`Job::gradients`], with the gradient at the rows that attention has heard.
    pub fn gradients_heard(
        &self,
        call: &Call<'_>,
        rows: RowSet<'_>,
        objective: &dyn Objective,
        mut lanes: Option<&mut Lanes>,
        wanted: &mut [Wanted<'_>],
        heard: Option<&mut Heard>,
    ) -> f64 {
        let Some(attended) = self.attend(call, rows) else {
            return self.sweep(&Pass { call, rows, objective, attended: None }, lanes, wanted);
        };
        let attention = self.program.raw.attention.as_ref().expect("somebody attended");
        let (job, _) = self.neighbours.as_ref().expect("attention has neighbours");
        let mut dz = Table::Full(Mat::zeros(rows.len(), attended.z.cols()));
        let mut all = vec![Wanted::in_order(self.program.input_value(attention.input), &mut dz)];
        all.extend(wanted.iter_mut().map(|w| Wanted { out: &mut *w.out, ..*w }));
        let pass = Pass { call, rows, objective, attended: Some(&attended.z) };
        let value = self.sweep(&pass, lanes.as_deref_mut(), &mut all);
        let mut inner = lanes.as_mut().map(|l| l.inner.take().unwrap_or_default());
        if inner.is_some() || heard.is_some() {
            attention.backward(job, &attended, call, &dz.into_full(), inner.as_deref_mut(), heard);
        }
        if let (Some(lanes), Some(mut inner)) = (lanes, inner) {
            let own = lanes.gradient().iter_mut().zip(inner.gradient());
            own.for_each(|(to, from)| to.data_mut().copy_from_slice(from.data()));
            lanes.inner = Some(inner);
        }
        value
    }

    fn sweep(&self, pass: &Pass<'_>, lanes: Option<&mut Lanes>, wanted: &mut [Wanted<'_>]) -> f64 {
        let lent = wanted.iter().any(|w| w.put == Put::InExchange);
        assert!(!lent || self.program.batch_norms() == 0, "batch norms read their inputs more than once");
        if self.keeps_blocks(pass.call, pass.rows) {
            self.sweep_kept(pass, lanes, wanted)
        } else {
            self.sweep_anew(pass, lanes, wanted)
        }
    }

    /// Block by block; batch norms run every block anew for what they need of all rows.
    pub(super) fn sweep_anew(
        &self,
        pass: &Pass<'_>,
        mut lanes: Option<&mut Lanes>,
        wanted: &mut [Wanted<'_>],
    ) -> f64 {
        let Pass { call, rows, attended, .. } = *pass;
        let mut states = self.states_of(call, rows, attended);
        let live = self.program.live(lanes.is_some(), wanted.iter().map(|w| w.value));
        if !matches!(call.norms, Norms::Stored(_)) {
            self.add_backward_sums(pass, &mut states);
        }
        let sweep = Sweep { context: self.context(call, &states), rows, live, attended };
        let blocks = self.blocks(rows);
        let count = if lanes.is_some() { self.program.lanes(rows.len()) } else { blocks };
        let accumulators = match &mut lanes {
            Some(l) => {
                let skip = self.program.inner_params();
                l.prepare(self.program, count).iter_mut().map(|g| Some(&mut g[skip..])).collect()
            }
            None => (0..count).map(|_| None).collect::<Vec<_>>(),
        };
        let mut places: Vec<_> = wanted.iter_mut().map(|w| w.piece(rows)).collect();
        let mut tasks = Vec::with_capacity(count);
        for (lane, grads) in accumulators.into_iter().enumerate() {
            let (first, last) = (lane * blocks / count, (lane + 1) * blocks / count);
            let end = self.span(rows, last - 1).end;
            let outs: Vec<_> = places.iter_mut().map(|piece| piece.upto(rows, end)).collect();
            tasks.push((first..last, grads, outs));
        }
        let run = |(span, grads, outs)| self.run_lane(&sweep, pass.objective, span, grads, outs);
        let total = tasks.into_par_iter().map(run).collect::<Vec<f64>>().iter().sum();
        if let Some(lanes) = lanes {
            lanes.reduce(count);
            self.copy_repeated(&mut lanes.gradient()[self.program.inner_params()..]);
        }
        total
    }

    /// Whether all blocks of a pass stay in memory because its batch norms need them more than once.
    fn keeps_blocks(&self, call: &Call<'_>, rows: RowSet<'_>) -> bool {
        let blocks = self.blocks(rows);
        !matches!(call.norms, Norms::Stored(_))
            && self.program.batch_norms() > 0
            && (1..=kept::MOST).contains(&blocks)
    }

    /// All blocks side by side, operation by operation.
    pub(super) fn sweep_kept(
        &self,
        pass: &Pass<'_>,
        mut lanes: Option<&mut Lanes>,
        wanted: &mut [Wanted<'_>],
    ) -> f64 {
        let Pass { call, rows, attended, .. } = *pass;
        let live = self.program.live(lanes.is_some(), wanted.iter().map(|w| w.value));
        let (blocks, skip) = (self.blocks(rows), self.program.inner_params());
        let count = self.program.lanes(rows.len());
        let sums: Vec<Option<&mut [Mat]>> = match &mut lanes {
            Some(l) => l.prepare(self.program, count).iter_mut().map(|g| Some(&mut g[skip..])).collect(),
            None => (0..count).map(|_| None).collect(),
        };
        let open = |(lane, grads)| {
            let span = lane * blocks / count..(lane + 1) * blocks / count;
            Kept { blocks: self.open(call, rows, span, attended), grads }
        };
        let mut kept: Vec<Kept<'_, 'a>> = sums.into_par_iter().enumerate().map(open).collect();
        let value = self.run_kept(pass, &live, &mut kept);
        let done: Vec<Workspace<'a>> = kept.into_iter().flat_map(|lane| lane.blocks).collect();
        for wanted in wanted.iter_mut() {
            let mut rest = wanted.piece(rows);
            for (b, ws) in done.iter().enumerate() {
                rest.upto(rows, self.span(rows, b).end).write(self.program, ws);
            }
        }
        self.pool().extend(done);
        if let Some(lanes) = lanes {
            lanes.reduce(count);
            self.copy_repeated(&mut lanes.gradient()[skip..]);
        }
        value
    }

    /// Weights that meet one source several times have equal gradients: the first is computed, the others copied.
    fn copy_repeated(&self, grads: &mut [Mat]) {
        for op in &self.program.raw.ops {
            let Op::Linear { src, w, .. } = op else { continue };
            let mut first = 0;
            let mut seen: Vec<(Value, usize)> = Vec::new();
            for v in src {
                let (rows, cols) = (self.program.raw.widths[v.0], grads[w.0].cols());
                match seen.iter().find(|(u, _)| u == v) {
                    Some((_, from)) => {
                        grads[w.0].data_mut().copy_within(from * cols..(from + rows) * cols, first * cols);
                    }
                    None => seen.push((*v, first)),
                }
                first += rows;
            }
        }
    }

    fn run_lane(
        &self,
        sweep: &Sweep<'_>,
        objective: &dyn Objective,
        blocks: Range<usize>,
        mut grads: Option<&mut [Mat]>,
        mut outs: Vec<Piece<'_>>,
    ) -> f64 {
        let mut total = 0.0;
        let first = blocks.start;
        for b in blocks {
            let span = self.span(sweep.rows, b);
            let position = span.start;
            let pieces: Vec<_> = outs.iter_mut().map(|rest| rest.upto(sweep.rows, span.end)).collect();
            total += self.with_block(sweep.rows, span, sweep.context.dropping, sweep.attended, |ws| {
                pieces.iter().for_each(|piece| piece.lend(self.program, ws));
                let ops = 0..self.program.raw.ops.len();
                sweep.context.forward(ws, ops.clone());
                let value = self.objective(ws, position, objective);
                let into = if b == first { Into::Set } else { Into::Add };
                let sums = grads.as_deref_mut().map(|sums| GradSums { sums, into });
                sweep.context.backward(ws, ops, &sweep.live, sums);
                pieces.into_iter().for_each(|piece| piece.write(self.program, ws));
                value
            });
        }
        total
    }

    pub(super) fn objective(&self, ws: &mut Workspace<'_>, first: usize, objective: &dyn Objective) -> f64 {
        ws.begin_back(self.program);
        let ids = std::mem::take(&mut ws.ids);
        ws.ids.clone_from(&ids);
        let (y, mut d) = ws.output(self.program);
        objective.block(first, &ids, y, &mut d)
    }

    pub(super) fn context<'c>(&'c self, call: &Call<'c>, states: &'c [NormState]) -> Context<'c> {
        let params = &call.params[self.program.inner_params()..];
        let number = self.calls.fetch_add(1, Ordering::Relaxed);
        Context { program: self.program, params, norms: states, dropping: call.dropping, number }
    }

    /// Statistics of the batch norms for a call: the given ones, or those of its rows.
    pub fn states(&self, call: &Call<'_>, rows: RowSet<'_>) -> Vec<NormState> {
        let attended = self.attend(call, rows);
        self.states_of(call, rows, attended.as_ref().map(|a| &a.z))
    }

    fn states_of(&self, call: &Call<'_>, rows: RowSet<'_>, attended: Option<&Mat>) -> Vec<NormState> {
        if let Norms::Stored(states) | Norms::Known(states) = call.norms {
            assert_eq!(states.len(), self.program.batch_norms(), "one state per batch norm");
            return states.to_vec();
        }
        let mut states = vec![NormState::default(); self.program.batch_norms()];
        for group in self.program.norm_groups() {
            let context = self.context(call, &states);
            let sums = self.sum_blocks(rows, group.width(), call.dropping, attended, |_, ws, sums| {
                context.forward(ws, 0..group.places.start);
                group.add_moments(self.program, ws, sums);
            });
            group.set_statistics(&sums, rows.len(), &mut states);
        }
        states
    }

    /// What gradients through batch statistics need, from the last batch norms to the first.
    fn add_backward_sums(&self, pass: &Pass<'_>, states: &mut [NormState]) {
        let Pass { call, rows, objective, attended } = *pass;
        let (all, end) = (vec![true; self.program.raw.widths.len()], self.program.raw.ops.len());
        for group in self.program.norm_groups().into_iter().rev() {
            let context = self.context(call, states);
            let sums = self.sum_blocks(rows, group.width(), call.dropping, attended, |first, ws, sums| {
                context.forward(ws, 0..end);
                self.objective(ws, first, objective);
                context.backward(ws, group.places.end..end, &all, None);
                group.add_back(self.program, ws, states, sums);
            });
            group.set_back(&sums, rows.len(), states);
        }
    }

    /// Column sums over all blocks, added in block order.
    fn sum_blocks(
        &self,
        rows: RowSet<'_>,
        width: usize,
        dropping: Dropping,
        attended: Option<&Mat>,
        add: impl Fn(usize, &mut Workspace<'a>, &mut [[f64; 2]]) + Sync,
    ) -> Vec<[f64; 2]> {
        let one = |b: usize| {
            let mut sums = vec![[0.0; 2]; width];
            let work = |ws: &mut Workspace<'a>| add(self.span(rows, b).start, ws, &mut sums);
            self.with_block(rows, self.span(rows, b), dropping, attended, work);
            sums
        };
        let parts: Vec<_> = (0..self.blocks(rows)).into_par_iter().map(one).collect();
        added(parts, width)
    }
}
