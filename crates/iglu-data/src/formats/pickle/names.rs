//! The names a pickle may use: all of them stand for data, none for an action.

/// A known name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Name {
    /// `numpy.ndarray`
    Ndarray,
    /// `numpy.core.multiarray._reconstruct`: an array, filled later
    Reconstruct,
    /// `numpy.core.numeric._frombuffer`: an array from bytes
    FromBuffer,
    /// `numpy.core.multiarray.scalar`: one number
    Scalar,
    /// `numpy.dtype`
    Dtype,
    /// `scipy.sparse.csr_matrix`
    CsrMatrix,
    /// `collections.defaultdict` and its like
    Dict,
    /// `list`, as the default of a `defaultdict`
    List,
    /// `object`, as the base in `copyreg._reconstructor`
    Object,
    /// `copyreg._reconstructor`: an object, filled later
    Reconstructor,
    /// `_codecs.encode`: bytes from text
    Encode,
}

/// Modules, names in them, and what they stand for.
const KNOWN: &[(&[&str], &[&str], Name)] = &[
    (&["numpy"], &["ndarray"], Name::Ndarray),
    (&["numpy"], &["dtype"], Name::Dtype),
    (&["numpy.core.multiarray", "numpy._core.multiarray"], &["_reconstruct"], Name::Reconstruct),
    (&["numpy.core.multiarray", "numpy._core.multiarray"], &["scalar"], Name::Scalar),
    (&["numpy.core.numeric", "numpy._core.numeric"], &["_frombuffer"], Name::FromBuffer),
    (
        &["scipy.sparse", "scipy.sparse.csr", "scipy.sparse._csr"],
        &["csr_matrix", "csr_array"],
        Name::CsrMatrix,
    ),
    (&["collections"], &["defaultdict", "OrderedDict"], Name::Dict),
    (&["__builtin__", "builtins"], &["list"], Name::List),
    (&["__builtin__", "builtins"], &["dict"], Name::Dict),
    (&["__builtin__", "builtins"], &["object"], Name::Object),
    (&["copy_reg", "copyreg"], &["_reconstructor"], Name::Reconstructor),
    (&["_codecs"], &["encode"], Name::Encode),
];

/// What `module.name` stands for, if it is known.
pub(super) fn known(module: &[u8], name: &[u8]) -> Option<Name> {
    let is = |names: &[&str], word: &[u8]| names.iter().any(|n| n.as_bytes() == word);
    KNOWN
        .iter()
        .find(|(modules, names, _)| is(modules, module) && is(names, name))
        .map(|(_, _, known)| *known)
}
