//! Walks a structure in Thrift's compact protocol, as Parquet keeps its headers, and shows its whole numbers.
//!
//! No recursion, no allocation from declared sizes: whatever is declared must be there in bytes.

/// Deepest nesting; Parquet's own structures have a handful of levels.
const DEEPEST: usize = 24;

/// What a structure or list still has to give.
enum Open {
    Struct { last: i16 },
    List { left: u64, kind: u8 },
}

/// Shows every whole number in the structure at the start of `bytes` to `see`, with the ids of the fields that lead
/// to it (items of a list have the id 0); returns where the structure ends. `None` if it is malformed.
pub fn walk(bytes: &[u8], mut see: impl FnMut(&[i16], i64)) -> Option<usize> {
    let mut input = Input { bytes, at: 0 };
    let mut open = vec![Open::Struct { last: 0 }];
    let mut path = vec![0];
    while let Some(top) = open.last_mut() {
        let kind = match top {
            Open::Struct { last } => {
                let (kind, id) = input.field(*last)?;
                (*last, *path.last_mut()?) = (id, id);
                kind
            }
            Open::List { left: 0, .. } => 0,
            Open::List { left, kind } => {
                *left -= 1;
                // A truth value in a list has a byte of its own.
                if matches!(kind, 1 | 2) { 3 } else { *kind }
            }
        };
        match kind {
            0 => {
                open.pop();
                path.pop();
            }
            1 | 2 => {}
            3 => drop(input.take(1)?),
            4..=6 => see(&path, input.zigzag()?),
            7 => drop(input.take(8)?),
            8 => {
                let length = input.varint()?;
                input.take(usize::try_from(length).ok()?)?;
            }
            9 | 10 => {
                open.push(input.list()?);
                path.push(0);
            }
            12 => {
                open.push(Open::Struct { last: 0 });
                path.push(0);
            }
            _ => return None,
        }
        if open.len() > DEEPEST {
            return None;
        }
    }
    Some(input.at)
}

struct Input<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Input<'a> {
    fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let taken = self.bytes.get(self.at..)?.get(..count)?;
        self.at += count;
        Some(taken)
    }

    fn byte(&mut self) -> Option<u8> {
        self.take(1).map(|taken| taken[0])
    }

    fn varint(&mut self) -> Option<u64> {
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            value |= u64::from(byte & 127) << shift;
            if byte < 128 {
                return Some(value);
            }
        }
        None
    }

    fn zigzag(&mut self) -> Option<i64> {
        let value = self.varint()?;
        Some((value >> 1) as i64 ^ -((value & 1) as i64))
    }

    /// Type and id of the next field; type 0 ends the structure.
    fn field(&mut self, last: i16) -> Option<(u8, i16)> {
        let byte = self.byte()?;
        let (step, kind) = (byte >> 4, byte & 15);
        let id = match step {
            _ if kind == 0 => last,
            0 => i16::try_from(self.zigzag()?).ok()?,
            step => last.checked_add(step.into())?,
        };
        Some((kind, id))
    }

    fn list(&mut self) -> Option<Open> {
        let byte = self.byte()?;
        let (count, kind) = (byte >> 4, byte & 15);
        let left = if count == 15 { self.varint()? } else { count.into() };
        Some(Open::List { left, kind })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The numbers with their paths, and where the structure ends.
    type Seen = (Vec<(Vec<i16>, i64)>, usize);

    fn numbers(bytes: &[u8]) -> Option<Seen> {
        let mut seen = Vec::new();
        let end = walk(bytes, |path, value| seen.push((path.to_vec(), value)))?;
        Some((seen, end))
    }

    #[test]
    fn numbers_come_with_their_path() {
        // {1: 7 (i32), 3: {2: -1 (i32)}, 4: "ab", 5: [1, 2] (i32), 6: true} and a byte behind.
        let bytes = [0x15, 14, 0x2c, 0x25, 1, 0, 0x18, 2, b'a', b'b', 0x19, 0x25, 2, 4, 0x11, 0, 9];
        let expect = vec![(vec![1], 7), (vec![3, 2], -1), (vec![5, 0], 1), (vec![5, 0], 2)];
        assert_eq!(numbers(&bytes), Some((expect, 16)));
    }

    #[test]
    fn what_is_not_there_is_not_taken() {
        assert_eq!(numbers(&[]), None);
        assert_eq!(numbers(&[0x15]), None, "a number is missing");
        assert_eq!(numbers(&[0x18, 0xff, 0xff, 0xff, 0xff, 0x0f, b'a']), None, "a text of 4 GB");
        assert_eq!(numbers(&[0x19, 0xf5, 0xff, 0xff, 0xff, 0xff, 0x0f, 2]), None, "a list of 4 G numbers");
        assert_eq!(numbers(&vec![0x1c; 100_000]), None, "structures in structures");
        assert_eq!(numbers(&[0x1b, 0, 0]), None, "maps are not used");
        assert_eq!(numbers(&[0xff; 64]), None);
    }
}
