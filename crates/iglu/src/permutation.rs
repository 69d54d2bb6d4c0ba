//! Nodes in another order, and the way back.

use crate::{Error, Result};

/// A permutation of the nodes `0..n`.
///
/// ```
/// let turned = iglu::Permutation::new(vec![2, 0, 1])?;
/// assert_eq!((turned.old(), turned.new_places()), (&[2, 0, 1][..], &[1, 2, 0][..]));
/// assert!(turned.after(&turned.inverse()).is_identity());
/// # Ok::<(), iglu::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Permutation {
    /// By new place, which node is there.
    old: Vec<u32>,
    /// By node, its new place.
    places: Vec<u32>,
}

impl Permutation {
    /// Node `old[i]` gets place `i`; refuses lists that do not have every node once.
    pub fn new(old: Vec<u32>) -> Result<Self> {
        let n = old.len();
        let mut places = vec![u32::MAX; n];
        for (place, &v) in old.iter().enumerate() {
            let wrong = |found: String| Error::data("order of nodes", found, "list every node once");
            match places.get_mut(v as usize) {
                None => return Err(wrong(format!("place {place}: node {v}, but there are {n} nodes"))),
                Some(slot) if *slot != u32::MAX => {
                    return Err(wrong(format!("node {v} has places {slot} and {place}")));
                }
                Some(slot) => *slot = place as u32,
            }
        }
        Ok(Self { old, places })
    }

    /// The same for a list that cannot be wrong.
    pub(crate) fn of(old: Vec<u32>) -> Self {
        Self::new(old).expect("every node once")
    }

    /// By new place, which node is there.
    pub fn old(&self) -> &[u32] {
        &self.old
    }

    /// By node, its new place.
    pub fn new_places(&self) -> &[u32] {
        &self.places
    }

    /// The way back.
    #[must_use]
    pub fn inverse(&self) -> Self {
        Self { old: self.places.clone(), places: self.old.clone() }
    }

    /// First `earlier`, then this one.
    #[must_use]
    pub fn after(&self, earlier: &Self) -> Self {
        Self::of(self.old.iter().map(|&between| earlier.old[between as usize]).collect())
    }

    /// Whether every node stays where it is.
    pub fn is_identity(&self) -> bool {
        self.old.iter().enumerate().all(|(place, &v)| place == v as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_with_a_node_missing_twice_or_too_many_are_refused() {
        for (old, expect) in [
            (vec![0, 2, 0], "node 0 has places 0 and 2"),
            (vec![0, 3, 1], "place 1: node 3, but there are 3 nodes"),
            (vec![u32::MAX], "node 4294967295"),
        ] {
            let e = Permutation::new(old).unwrap_err();
            assert!(e.to_string().contains(expect), "{e}");
            assert_eq!(e.exit_code(), 65);
        }
        assert!(Permutation::new(Vec::new()).unwrap().is_identity());
    }

    #[test]
    fn one_after_the_other_is_the_composition() {
        let (first, second) = (Permutation::of(vec![3, 1, 0, 2]), Permutation::of(vec![1, 2, 3, 0]));
        let both = second.after(&first);
        let apply = |p: &Permutation, items: &[u32]| -> Vec<u32> {
            p.old().iter().map(|&v| items[v as usize]).collect()
        };
        let items = [10, 11, 12, 13];
        assert_eq!(apply(&both, &items), apply(&second, &apply(&first, &items)));
        assert_eq!(apply(&both.inverse(), &apply(&both, &items)), items);
    }
}
