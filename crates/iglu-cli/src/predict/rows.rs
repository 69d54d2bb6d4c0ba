//! Predictions as a table: a row for each node, with names where the data has them.

use iglu::metrics::argmax;
use iglu::{Dataset, Mat, Names, Real};
use iglu_data::columns::{Cell, Column, Kind, Table};

/// What stands beside the prediction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Extra {
    /// Nothing.
    Nothing,
    /// The probability of every class.
    All,
    /// This many of the most likely classes, with their probabilities.
    Likely(usize),
}

/// What the network's outputs stand for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outputs {
    /// Classes, of which a node has one.
    Classes,
    /// Labels, of which a node has any number.
    Labels,
}

/// What is to be written.
pub struct Rows<'a> {
    /// The data, for its names.
    pub data: &'a Dataset,
    /// Logits of all nodes.
    pub logits: &'a Mat,
    /// What they stand for.
    pub outputs: Outputs,
    /// What stands beside the prediction.
    pub extra: Extra,
}

impl Rows<'_> {
    /// Digits after the point that text shows of a probability.
    pub const DIGITS: usize = 6;

    /// Names of the classes, if there is one for each.
    fn names(&self) -> Option<&Names> {
        self.data.class_names.as_ref().filter(|names| names.len() == self.logits.cols())
    }

    /// The name of a class, or its number.
    fn class(&self, class: usize) -> String {
        self.names().map_or_else(|| class.to_string(), |names| names.get(class).to_string())
    }

    /// The same for a column of classes.
    fn class_cell(&self, class: usize) -> Cell {
        if self.names().is_some() { Cell::Text(self.class(class)) } else { Cell::Whole(class as i64) }
    }

    fn class_column(&self, name: impl Into<String>) -> Column {
        Column::new(name, if self.names().is_some() { Kind::Text } else { Kind::Whole })
    }

    /// The most likely classes that are shown.
    fn most(&self, asked: usize) -> usize {
        asked.min(self.logits.cols())
    }

    /// The class with the largest logit, or every label with a logit above 0.
    fn prediction(&self, logits: &[Real]) -> Cell {
        match self.outputs {
            Outputs::Classes => self.class_cell(argmax(logits)),
            Outputs::Labels => {
                let positive = (0..logits.len()).filter(|&c| logits[c] > 0.0);
                Cell::Text(positive.map(|c| self.class(c)).collect::<Vec<_>>().join(";"))
            }
        }
    }
}

impl Table for Rows<'_> {
    fn columns(&self) -> Vec<Column> {
        let prediction = match self.outputs {
            Outputs::Classes => self.class_column("class"),
            Outputs::Labels => Column::new("labels", Kind::Text),
        };
        let mut columns = vec![node_column(self.data), prediction];
        match self.extra {
            Extra::Nothing => {}
            Extra::All => {
                let names = (0..self.logits.cols()).map(|c| format!("p_{}", self.class(c)));
                columns.extend(names.map(|name| Column::new(name, Kind::Number)));
            }
            Extra::Likely(most) => {
                for i in 1..=self.most(most) {
                    columns.push(self.class_column(format!("class_{i}")));
                    columns.push(Column::new(format!("p_{i}"), Kind::Number));
                }
            }
        }
        columns
    }

    fn rows(&self) -> usize {
        self.logits.rows()
    }

    fn row(&self, node: usize) -> Vec<Cell> {
        let logits = self.logits.row(node);
        let mut cells = vec![node_cell(self.data, node), self.prediction(logits)];
        match self.extra {
            Extra::Nothing => {}
            Extra::All => cells.extend(shares(logits, self.outputs).into_iter().map(Cell::Number)),
            Extra::Likely(most) => {
                let shares = shares(logits, self.outputs);
                for class in ranked(&shares).into_iter().take(self.most(most)) {
                    cells.extend([self.class_cell(class), Cell::Number(shares[class])]);
                }
            }
        }
        cells
    }
}

/// The column of nodes: names, or numbers where the data has no names.
pub fn node_column(data: &Dataset) -> Column {
    Column::new("node", if data.node_names.is_some() { Kind::Text } else { Kind::Whole })
}

/// A node in its column.
pub fn node_cell(data: &Dataset, node: usize) -> Cell {
    match &data.node_names {
        Some(names) => Cell::Text(names.get(node).to_string()),
        None => Cell::Whole(node as i64),
    }
}

/// Probabilities of all nodes, in place of their logits.
pub fn probabilities(mut logits: Mat, outputs: Outputs) -> Mat {
    for node in 0..logits.rows() {
        let shares = shares(logits.row(node), outputs);
        logits.row_mut(node).copy_from_slice(&shares);
    }
    logits
}

/// Probabilities: softmax over the classes, or the logistic function of each label.
fn shares(logits: &[Real], outputs: Outputs) -> Vec<Real> {
    if outputs == Outputs::Labels {
        return logits.iter().map(|&z| (1.0 / (1.0 + (-f64::from(z)).exp())) as Real).collect();
    }
    let high = logits.iter().copied().fold(Real::NEG_INFINITY, Real::max);
    let powers: Vec<f64> = logits.iter().map(|&z| (f64::from(z) - f64::from(high)).exp()).collect();
    let sum: f64 = powers.iter().sum();
    powers.iter().map(|p| (p / sum) as Real).collect()
}

/// Classes, the most likely first; equal ones in their order.
fn ranked(shares: &[Real]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..shares.len()).collect();
    order.sort_by(|&a, &b| shares[b].total_cmp(&shares[a]));
    order
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table;
    use iglu::{EdgeOptions, Features, Graph, Labels, Split};

    fn data(nodes: &[&str], classes: &[&str]) -> Dataset {
        let graph = Graph::from_edges(2, &[[0, 1]], EdgeOptions::default()).unwrap();
        let labels = Labels::Classes { ids: vec![-1, -1], classes: 3 };
        let mut data = Dataset::new("d", graph, Features::Dense(Mat::zeros(2, 1)), labels, Split::default());
        data.node_names = (!nodes.is_empty()).then(|| nodes.iter().collect());
        data.class_names = (!classes.is_empty()).then(|| classes.iter().collect());
        data
    }

    fn check(data: &Dataset, outputs: Outputs, extra: Extra, expect: &[&str]) {
        let logits = Mat::from_rows(&[[0.0, 2.0_f32.ln(), 0.0], [1.0, -1.0, 1.0]]);
        let rows = Rows { data, logits: &logits, outputs, extra };
        let mut out = Vec::new();
        table::write_lines(&mut out, &rows, Some(Rows::DIGITS)).unwrap();
        assert_eq!(String::from_utf8(out).unwrap().lines().collect::<Vec<_>>(), expect);
    }

    #[test]
    fn rows_have_names_where_there_are_some() {
        let plain = data(&[], &[]);
        let named = data(&["ada", "a,b"], &["red", "gr\"een", "blue"]);
        check(&plain, Outputs::Classes, Extra::Nothing, &["node,class", "0,1", "1,0"]);
        check(&named, Outputs::Classes, Extra::Nothing, &["node,class", "ada,\"gr\"\"een\"", "\"a,b\",red"]);
        check(&data(&[], &["one"]), Outputs::Classes, Extra::Nothing, &["node,class", "0,1", "1,0"]);
    }

    /// softmax(0, ln 2, 0) = (1/4, 1/2, 1/4); softmax(1, -1, 1) = (0.468311, 0.063379, 0.468311), by SciPy.
    #[test]
    fn probabilities_are_softmax() {
        let named = data(&[], &["red", "gr\"een", "blue"]);
        let expect = [
            "node,class,p_red,\"p_gr\"\"een\",p_blue",
            "0,\"gr\"\"een\",0.250000,0.500000,0.250000",
            "1,red,0.468311,0.063379,0.468311",
        ];
        check(&named, Outputs::Classes, Extra::All, &expect);
        let likely =
            ["node,class,class_1,p_1,class_2,p_2", "0,1,1,0.500000,0,0.250000", "1,0,0,0.468311,2,0.468311"];
        check(&data(&[], &[]), Outputs::Classes, Extra::Likely(2), &likely);
    }

    /// The logistic function of 0, ln 2, 1 and -1 is 1/2, 2/3, 0.731059 and 0.268941.
    #[test]
    fn labels_have_probabilities_of_their_own() {
        let expect =
            ["node,labels,p_0,p_1,p_2", "0,1,0.500000,0.666667,0.500000", "1,0;2,0.731059,0.268941,0.731059"];
        check(&data(&[], &[]), Outputs::Labels, Extra::All, &expect);
        let likely = ["node,labels,class_1,p_1", "0,1,1,0.666667", "1,0;2,0,0.731059"];
        check(&data(&[], &[]), Outputs::Labels, Extra::Likely(1), &likely);
    }
}
