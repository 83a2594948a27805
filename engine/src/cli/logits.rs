//! `strata logits`: what the model computes after each token, for comparison with other engines.

use super::args::Logits;
use super::signals::Signals;
use super::{Failure, engine, say};
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;
use strata_engine::{Session, Token};

pub(super) fn run(args: Logits) -> Result<(), Failure> {
    refuse_what_is_no_file(&args.out)?;
    let loaded = engine::load(&args.model, &args.engine())?;
    let signals = Signals::install()
        .map_err(|error| Failure::Internal(format!("cannot watch for signals: {error}")))?;
    let mut session = Session::new(loaded.model, loaded.session)?;
    // The file appears whole or not at all.
    let mut partial = args.out.clone().into_os_string();
    partial.push(".partial");
    let partial = Path::new(&partial);
    let written = write_rows(&mut session, &args.tokens.0, partial, &signals)
        .and_then(|()| std::fs::rename(partial, &args.out).map_err(|e| cannot_write(&args.out, e)));
    if written.is_err() {
        let _ = std::fs::remove_file(partial);
    }
    written?;
    let (rows, columns) = (args.tokens.0.len(), session.model().vocab_size());
    say(&format!("logits     [{rows}, {columns}] in {}", args.out.display()));
    Ok(())
}

/// One row of logits a token, [tokens, vocab].
fn write_rows(
    session: &mut Session,
    tokens: &[Token],
    path: &Path,
    signals: &Signals,
) -> Result<(), Failure> {
    let failed = |error| cannot_write(path, error);
    let mut file = BufWriter::new(File::create(path).map_err(failed)?);
    for token in tokens {
        if signals.seen().is_some() {
            return Err(Failure::Interrupted);
        }
        session.push(*token)?;
        for logit in session.decode()? {
            file.write_all(&logit.to_le_bytes()).map_err(failed)?;
        }
    }
    file.into_inner()
        .map_err(io::IntoInnerError::into_error)
        .map_err(failed)?
        .sync_all()
        .map_err(failed)
}

/// The rename at the end would put a file in the place of a device, a pipe or a link.
fn refuse_what_is_no_file(out: &Path) -> Result<(), Failure> {
    match out.symlink_metadata() {
        Ok(there) if !there.is_file() => {
            let message = "exists and is no regular file: give the path of a file";
            Err(Failure::Input(format!("--out {}: {message}", out.display())))
        }
        _ => Ok(()),
    }
}

fn cannot_write(path: &Path, error: io::Error) -> Failure {
    Failure::Input(format!("cannot write {}: {error}", path.display()))
}
