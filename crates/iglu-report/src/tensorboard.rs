//! Event files of TensorBoard: scalars only.
//!
//! A file is a row of records, `length: u64, crc(length): u32, data, crc(data): u32`, all little-endian; the checksums
//! are CRC-32C, rotated and shifted. The data is an `Event` in protobuf: 1 `wall_time` (double), 2 `step` (int64),
//! 3 `file_version` (string), 5 `summary`, of which 1 is a `value` with 1 `tag` (string) and 2 `simple_value` (float).

/// How the name of an event file begins; TensorBoard looks for it.
pub const NAME: &str = "events.out.tfevents";

/// The record that begins every file; `time` is in seconds since 1970.
pub fn head(time: f64) -> Vec<u8> {
    let mut event = Message::default();
    event.double(1, time);
    event.bytes(3, b"brain.Event:2");
    framed(&event.0)
}

/// The record of some scalars of one step.
///
/// ```
/// let record = iglu_report::tensorboard::scalars(1.5, 3, &[("loss".to_string(), 0.25)]);
/// assert_eq!(record.len(), 12 + 9 + 2 + 2 + 2 + 11 + 4);
/// ```
pub fn scalars(time: f64, step: u64, values: &[(String, f64)]) -> Vec<u8> {
    let mut summary = Message::default();
    for (tag, value) in values {
        let mut scalar = Message::default();
        scalar.bytes(1, tag.as_bytes());
        scalar.float(2, *value as f32);
        summary.bytes(1, &scalar.0);
    }
    let mut event = Message::default();
    event.double(1, time);
    event.varint(2, step);
    event.bytes(5, &summary.0);
    framed(&event.0)
}

/// A protobuf message: fields with their number and the kind of their wire form.
#[derive(Debug, Default)]
struct Message(Vec<u8>);

impl Message {
    fn key(&mut self, field: u64, wire: u64) {
        self.raw_varint(field << 3 | wire);
    }

    fn raw_varint(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.0.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.0.push(value as u8);
    }

    fn varint(&mut self, field: u64, value: u64) {
        self.key(field, 0);
        self.raw_varint(value);
    }

    fn double(&mut self, field: u64, value: f64) {
        self.key(field, 1);
        self.0.extend(value.to_le_bytes());
    }

    fn float(&mut self, field: u64, value: f32) {
        self.key(field, 5);
        self.0.extend(value.to_le_bytes());
    }

    fn bytes(&mut self, field: u64, value: &[u8]) {
        self.key(field, 2);
        self.raw_varint(value.len() as u64);
        self.0.extend(value);
    }
}

fn framed(data: &[u8]) -> Vec<u8> {
    let length = (data.len() as u64).to_le_bytes();
    [&length[..], &masked(&length), data, &masked(data)].concat()
}

/// The checksum as records have it: a CRC over data that holds CRCs would be weak.
fn masked(data: &[u8]) -> [u8; 4] {
    crc32c(data).rotate_right(15).wrapping_add(0xa282_ead8).to_le_bytes()
}

/// CRC-32C (Castagnoli), bit by bit: records are short.
fn crc32c(data: &[u8]) -> u32 {
    let step = |crc: u32, _| if crc & 1 == 1 { crc >> 1 ^ 0x82f6_3b78 } else { crc >> 1 };
    !data.iter().fold(!0, |crc, byte| (0..8).fold(crc ^ u32::from(*byte), step))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The check value of the CRC catalogue, and RFC 3720 appendix B.4.
    #[test]
    fn the_checksum_is_crc_32c() {
        assert_eq!(crc32c(b"123456789"), 0xe306_9283);
        assert_eq!(crc32c(&[0; 32]), 0x8a91_36aa);
        assert_eq!(crc32c(&[0xff; 32]), 0x62a8_ab43);
    }

    /// Made and read back by the `tensorboard` package: `scripts/golden_tensorboard.py`.
    #[test]
    fn records_are_those_of_the_tensorboard_package() {
        let golden = include_bytes!("../tests/golden/tensorboard.bin");
        let values = [("loss".to_string(), 0.25), ("validation/accuracy".to_string(), 0.875)];
        let later = [("bias/layer1".to_string(), 1e-3)];
        let found = [head(1.5), scalars(2.5, 1, &values), scalars(3.5, 300, &later)].concat();
        assert_eq!(found, golden);
    }
}
