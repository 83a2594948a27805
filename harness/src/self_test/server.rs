//! The server of a self-test: one connection, one request, and a script of what to do then. It
//! notes when each write began.

use super::Step;
use crate::client::clock::{Clock, SystemClock};
use std::io::{self, ErrorKind, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::time::Duration;

/// A write of body bytes.
#[derive(Debug)]
pub(super) struct Sent {
    /// Before the first byte was handed to the kernel.
    pub(super) at_ns: u64,
    /// The bytes without framing.
    pub(super) body: Vec<u8>,
}

/// Answers the next request with `steps`. A client that goes away early ends it.
pub(super) fn serve(
    listener: &TcpListener,
    steps: &[Step],
    clock: &SystemClock,
) -> io::Result<Vec<Sent>> {
    let mut stream = accept(listener)?;
    stream.set_nodelay(true)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    read_request(&mut stream)?;
    let mut sent = Vec::new();
    for step in steps {
        match step {
            Step::Pause(time) => std::thread::sleep(*time),
            Step::Send { wire, body } => {
                sent.push(Sent { at_ns: clock.now_ns(), body: body.clone() });
                if stream.write_all(wire).is_err() {
                    break;
                }
            }
            Step::Hang => while matches!(stream.read(&mut [0; 64]), Ok(1..)) {},
        }
    }
    Ok(sent)
}

/// Waits for a connection, not for ever: the client may have failed to make one.
fn accept(listener: &TcpListener) -> io::Result<TcpStream> {
    listener.set_nonblocking(true)?;
    for _ in 0..PATIENCE.as_millis() {
        match listener.accept() {
            Ok((stream, _)) => {
                stream.set_nonblocking(false)?;
                return Ok(stream);
            }
            Err(error) if error.kind() == ErrorKind::WouldBlock => {
                std::thread::sleep(Duration::from_millis(1));
            }
            Err(error) => return Err(error),
        }
    }
    Err(ErrorKind::TimedOut.into())
}

/// Reads a head and the two bytes of the body `{}`.
fn read_request(stream: &mut TcpStream) -> io::Result<()> {
    let mut request = Vec::new();
    while !request.ends_with(b"\r\n\r\n{}") {
        let mut byte = [0];
        stream.read_exact(&mut byte)?;
        request.push(byte[0]);
    }
    Ok(())
}

/// Longest wait for the client.
const PATIENCE: Duration = Duration::from_secs(5);
