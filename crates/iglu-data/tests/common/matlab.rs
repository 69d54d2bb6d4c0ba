//! MATLAB files made by hand.

/// An element of a MATLAB file.
pub fn element(kind: u32, data: &[u8]) -> Vec<u8> {
    let mut out = [kind.to_le_bytes(), (data.len() as u32).to_le_bytes()].concat();
    out.extend(data);
    out.resize(out.len().next_multiple_of(8), 0);
    out
}

/// Whole numbers of 32 bits.
pub fn words32(values: &[i32]) -> Vec<u8> {
    values.iter().flat_map(|v| v.to_le_bytes()).collect()
}

/// An array of a MATLAB file: what stands before its numbers, and these.
pub fn array(name: &str, class: i32, dims: &[i32], numbers: &[Vec<u8>]) -> Vec<u8> {
    let parts = [element(6, &words32(&[class, 0])), element(5, &words32(dims)), element(1, name.as_bytes())];
    element(14, &[parts.concat(), numbers.concat()].concat())
}

/// A MATLAB file of these arrays.
pub fn matlab(arrays: &[Vec<u8>]) -> Vec<u8> {
    let mut out = b"MATLAB 5.0 MAT-file".to_vec();
    out.resize(124, b' ');
    out.extend(b"\x00\x01IM");
    out.extend(arrays.concat());
    out
}

/// An element packed with zlib.
pub fn packed(bytes: &[u8]) -> Vec<u8> {
    use std::io::Write;
    let mut zlib = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::best());
    zlib.write_all(bytes).unwrap();
    let stream = zlib.finish().unwrap();
    [15_u32.to_le_bytes().to_vec(), (stream.len() as u32).to_le_bytes().to_vec(), stream].concat()
}
