//! Predictions as a table: a row for each node, with names where the data has them.

use iglu::metrics::argmax;
use iglu::{Dataset, Mat, Real, Result};
use iglu_report::table::csv_field;
use std::io::{self, Write};
use std::path::Path;

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
    /// Writes the file; an old one is replaced when all is on disk.
    pub fn write(&self, path: &Path) -> Result<()> {
        iglu_data::output::replace(path, |out| {
            writeln!(out, "{}", self.head())?;
            (0..self.logits.rows()).try_for_each(|node| self.write_row(out, node))
        })
    }

    /// The name of a class, if there is one for each; else its number.
    fn class(&self, class: usize) -> String {
        let names = self.data.class_names.as_ref().filter(|n| n.len() == self.logits.cols());
        names.map_or_else(|| class.to_string(), |names| names.get(class).to_string())
    }

    fn head(&self) -> String {
        let classes = self.logits.cols();
        let prediction = if self.outputs == Outputs::Labels { "labels" } else { "class" };
        let extra: Vec<String> = match self.extra {
            Extra::Nothing => Vec::new(),
            Extra::All => (0..classes).map(|c| csv_field(&format!("p_{}", self.class(c)))).collect(),
            Extra::Likely(most) => (1..=most.min(classes)).map(|i| format!("class_{i},p_{i}")).collect(),
        };
        [vec!["node".to_string(), prediction.to_string()], extra].concat().join(",")
    }

    fn write_row(&self, out: &mut impl Write, node: usize) -> io::Result<()> {
        let logits = self.logits.row(node);
        write!(out, "{},{}", csv_field(&node_name(self.data, node)), csv_field(&self.prediction(logits)))?;
        match self.extra {
            Extra::Nothing => {}
            Extra::All => shares(logits, self.outputs).iter().try_for_each(|p| write!(out, ",{p:.6}"))?,
            Extra::Likely(most) => {
                let shares = shares(logits, self.outputs);
                for class in ranked(&shares).into_iter().take(most) {
                    write!(out, ",{},{:.6}", csv_field(&self.class(class)), shares[class])?;
                }
            }
        }
        writeln!(out)
    }

    /// The class with the largest logit, or every label with a logit above 0.
    fn prediction(&self, logits: &[Real]) -> String {
        match self.outputs {
            Outputs::Classes => self.class(argmax(logits)),
            Outputs::Labels => {
                let positive = (0..logits.len()).filter(|&c| logits[c] > 0.0);
                positive.map(|c| self.class(c)).collect::<Vec<_>>().join(";")
            }
        }
    }
}

/// The name of a node, or its number.
pub fn node_name(data: &Dataset, node: usize) -> String {
    data.node_names.as_ref().map_or_else(|| node.to_string(), |names| names.get(node).to_string())
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
        let mut out = format!("{}\n", rows.head()).into_bytes();
        (0..2).for_each(|node| rows.write_row(&mut out, node).unwrap());
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
