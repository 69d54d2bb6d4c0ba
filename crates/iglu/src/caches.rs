//! The caches of lazy training with their ages: `x[k]` is `X^k`, `z[k]` is `Z^k = A X^{k-1}`, `alpha[k]` is
//! `dL/dX^k`, and nothing else. Index 0 stays empty: `X^0` and its aggregates are constants of the [`crate::side`].
//!
//! Stamps say what was made from what: a `Z^k` older than `X^{k-1}` is recomputed when somebody needs it, and
//! never otherwise.

use crate::chosen::Chosen;
use crate::network::{Network, inputs};
use crate::observe::Stopwatch;
use crate::program::{Input, Job, Program};
use crate::side::Side;
use crate::{Scratch, Table};
use std::sync::Arc;

/// Embeddings, aggregates and incomplete gradients of one side.
#[derive(Debug, Default)]
pub struct Caches {
    /// `X^k`.
    pub x: Vec<Table>,
    /// `Z^k`, one per aggregate.
    pub z: Vec<Vec<Table>>,
    /// `alpha^k`.
    pub alpha: Vec<Table>,
    /// Optimiser steps of layer k since `alpha[k]` was refreshed.
    pub alpha_age: Vec<u64>,
    /// Seconds spent on making `Z`.
    pub seconds: f64,
    /// The layer whose aggregates are kept for some nodes only.
    chosen: Option<(usize, Arc<Chosen>)>,
    x_made: Vec<u64>,
    z_made: Vec<u64>,
    trained: Vec<u64>,
    norms_made: Vec<u64>,
    clock: u64,
}

impl Caches {
    /// Empty caches for layers 1..=depth.
    pub fn new(depth: usize) -> Self {
        let none = || (0..=depth).map(|_| Table::default()).collect();
        Self {
            x: none(),
            z: (0..=depth).map(|_| Vec::new()).collect(),
            alpha: none(),
            alpha_age: vec![0; depth + 1],
            seconds: 0.0,
            chosen: None,
            x_made: vec![0; depth + 1],
            z_made: vec![0; depth + 1],
            trained: vec![1; depth + 1],
            norms_made: vec![0; depth + 1],
            clock: 1,
        }
    }

    /// Drops everything held, as if nothing had been computed yet.
    pub fn forget(&mut self) {
        *self = Self { chosen: self.chosen.take(), ..Self::new(self.x.len() - 1) };
    }

    /// Keeps `Z^k` for some nodes only.
    pub(crate) fn choose(&mut self, k: usize, chosen: Chosen) {
        self.chosen = Some((k, Arc::new(chosen)));
    }

    /// The nodes that `Z^k` is kept for, where those are not all.
    pub(crate) fn chosen(&self, k: usize) -> Option<&Arc<Chosen>> {
        self.chosen.as_ref().filter(|(at, _)| *at == k).map(|(_, chosen)| chosen)
    }

    fn tick(&mut self) -> u64 {
        self.clock += 1;
        self.clock
    }

    /// Layer k's parameters have changed.
    pub fn mark_trained(&mut self, k: usize) {
        self.trained[k] = self.tick();
    }

    /// `X^k` has been recomputed.
    pub fn mark_refreshed(&mut self, k: usize) {
        self.x_made[k] = self.tick();
    }

    /// The batch norms of layer k have the statistics of all rows, without dropout.
    pub fn mark_norms(&mut self, k: usize) {
        self.norms_made[k] = self.tick();
    }

    /// They have others.
    pub fn forget_norms(&mut self, k: usize) {
        self.norms_made[k] = 0;
    }

    /// Whether the batch norms of layer k have the statistics of all rows under its parameters and present inputs.
    pub fn knows_norms(&self, k: usize, network: &Network) -> bool {
        self.made_last(self.norms_made[k], k, network)
    }

    /// Whether what was made at a moment matches layer k and its present inputs, be those stale or not.
    fn made_last(&self, made: u64, k: usize, network: &Network) -> bool {
        made > self.trained[k] && (1..k).filter(|&m| network.at(k).reads(m)).all(|m| made > self.x_made[m])
    }

    /// Whether `X^k` is what layer k makes of the present `X^{k-1}`, and that of its input, down to the features.
    pub fn fresh(&self, k: usize, network: &Network) -> bool {
        if k == 0 {
            return true;
        }
        let made = self.x_made[k];
        let inputs = (0..k).filter(|&m| network.at(k).reads(m));
        made > self.trained[k]
            && inputs.into_iter().all(|m| (m == 0 || made > self.x_made[m]) && self.fresh(m, network))
    }

    /// Whether `X^k` matches its layer and its present inputs, be those stale or not.
    pub fn consistent(&self, k: usize, network: &Network) -> bool {
        self.made_last(self.x_made[k], k, network)
    }

    /// Makes `Z^k` match `X^{k-1}`.
    pub fn ensure_z(&mut self, k: usize, network: &Network, side: &Side, scratch: &Scratch) {
        let layer = network.at(k);
        if k == 1 || layer.look.parts() == 0 || self.z_made[k] > self.x_made[k - 1] {
            return;
        }
        let watch = Stopwatch::new();
        let x = &self.x[k - 1];
        assert_eq!(x.rows(), side.nodes(), "X^{} has been computed", k - 1);
        let chosen = self.chosen(k).cloned();
        let rows = chosen.as_ref().map_or(x.rows(), |chosen| chosen.len());
        let make = || Table::take(scratch, x.storage(), rows, x.cols());
        self.z[k].resize_with(layer.look.parts(), make);
        match chosen {
            Some(chosen) => chosen.aggregate(x, &mut self.z[k]),
            None => side.aggregate(layer, x, &mut self.z[k]),
        }
        self.z_made[k] = self.tick();
        self.seconds += watch.seconds();
    }

    /// Gives `X^k` away, which will be made again before anybody needs it.
    pub fn take_x(&mut self, k: usize) -> Table {
        self.x_made[k] = 0;
        std::mem::take(&mut self.x[k])
    }

    /// Gives `Z^k` away; whoever needs it after that makes it again.
    pub fn take_z(&mut self, k: usize) -> Vec<Table> {
        self.z_made[k] = 0;
        std::mem::take(&mut self.z[k])
    }

    /// A program bound to what its inputs hold.
    pub fn job<'a>(&'a self, program: &'a Program, side: &'a Side) -> Job<'a> {
        self.job_with(program, side, |layer, part| self.aggregate(layer, part, &self.z[layer][part]))
    }

    /// Part `part` of `Z^k` for a program, where `table` has what is kept of it.
    pub fn aggregate<'a>(&'a self, k: usize, part: usize, table: &'a Table) -> Input<'a> {
        self.chosen(k).map_or_else(|| table.into(), |chosen| chosen.input(part, table, &self.x[k - 1]))
    }

    /// The same with aggregates from elsewhere.
    pub fn job_with<'a>(
        &'a self,
        program: &'a Program,
        side: &'a Side,
        z: impl Fn(usize, usize) -> Input<'a>,
    ) -> Job<'a> {
        Job::new(program, inputs(program, side, |m| &self.x[m], z), side.pattern())
    }

    /// Bytes held.
    pub fn bytes(&self) -> usize {
        self.x.iter().chain(self.z.iter().flatten()).chain(&self.alpha).map(Table::bytes).sum()
    }
}
