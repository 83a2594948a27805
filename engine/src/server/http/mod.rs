//! HTTP/1.1 over blocking sockets: one thread accepts, and each open connection has one of its
//! own. Every wait, size and count has a limit, and nothing a client or the system does ends the
//! accepting. It knows no routes.

mod body;
mod connection;
mod head;
mod registry;
mod response;

pub(super) use connection::{Handler, Request};
pub(super) use response::Response;

use super::openai::ApiError;
use crate::Error;
use registry::{Registry, Stage};
use std::io::{self, Read, Write};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::thread::{Builder, JoinHandle};
use std::time::{Duration, Instant};

/// A bound port that does not answer yet, so that a taken port is found before a model is loaded.
#[derive(Debug)]
pub struct Listener(TcpListener);

impl Listener {
    /// Binds `host:port`; port 0 takes any free one.
    pub fn bind(host: &str, port: u16) -> Result<Listener, Error> {
        let refused = |error: io::Error| {
            Error::Input(match error.kind() {
                io::ErrorKind::AddrInUse => format!(
                    "{host}:{port} is already in use: stop what listens there or choose another \
                     --port (0 takes any free one)"
                ),
                io::ErrorKind::PermissionDenied => format!(
                    "{host}:{port} needs rights this user lacks: choose a --port above 1023"
                ),
                _ => format!("cannot listen on {host}:{port}: {error}: check --host and --port"),
            })
        };
        TcpListener::bind((host, port)).map(Listener).map_err(refused)
    }

    /// Where it listens, the real port included.
    pub fn address(&self) -> SocketAddr {
        self.0.local_addr().expect("a bound socket has an address")
    }
}

/// An answering port.
pub(super) struct Http {
    address: SocketAddr,
    registry: Arc<Registry>,
    accepting: JoinHandle<()>,
}

impl Http {
    /// Starts to answer; every request goes to `handler`, on its connection's thread.
    pub(super) fn start(listener: Listener, handler: Arc<Handler>) -> Result<Http, Error> {
        let address = listener.address();
        let registry = Arc::new(Registry::new());
        let shared = Arc::clone(&registry);
        let accepting = Builder::new()
            .name("accept".into())
            .spawn(move || accept(&listener.0, &shared, &handler))
            .map_err(|error| Error::Input(format!("cannot start a server thread: {error}")))?;
        Ok(Http { address, registry, accepting })
    }

    pub(super) fn address(&self) -> SocketAddr {
        self.address
    }

    /// Answers what has arrived, refuses what comes meanwhile, and closes the port.
    pub(super) fn drain(self) {
        self.registry.drain(DRAIN_GRACE);
        self.registry.close();
        let began = Instant::now();
        while !self.accepting.is_finished() {
            // A connection is what ends the waiting in `accept`.
            let woken = TcpStream::connect_timeout(&reachable(self.address), RETRY).is_ok();
            if !woken && began.elapsed() > WAKE {
                return; // Without a descriptor to spare the process's end must do.
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        // A panic of that thread has been printed, and it holds nothing.
        let _ = self.accepting.join();
        // It may have taken in one more before it saw the end.
        self.registry.close();
    }
}

fn accept(listener: &TcpListener, registry: &Arc<Registry>, handler: &Arc<Handler>) {
    loop {
        let accepted = listener.accept();
        if registry.stage() == Stage::Closed {
            return;
        }
        match accepted {
            Ok((stream, _)) => open(stream, registry, handler),
            Err(_) => {
                // Most often no descriptor is left, and idle connections hold some.
                registry.shed_idle();
                std::thread::sleep(RETRY);
            }
        }
    }
}

fn open(stream: TcpStream, registry: &Arc<Registry>, handler: &Arc<Handler>) {
    let stream = Arc::new(stream);
    let Some(slot) = registry.admit(&stream, CONNECTIONS_MAX) else {
        return refuse(&stream);
    };
    let handler = Arc::clone(handler);
    // Without a thread the closure is dropped, and so is the connection.
    let _ =
        Builder::new().name("http".into()).spawn(move || connection::serve(stream, slot, handler));
}

/// Answers without waiting for anything.
fn refuse(mut stream: &TcpStream) {
    let message = format!("{CONNECTIONS_MAX} connections are open: try again later");
    let response = Response::error(&ApiError::new(503, "too_many_connections", message));
    let _ = stream.set_nonblocking(true);
    let _ = stream.write_all(response.bytes(false, false).as_bytes());
    let _ = stream.shutdown(Shutdown::Write);
    // What has arrived is read, so that closing does not take the answer back.
    let _ = stream.read(&mut [0; 16 << 10]);
}

/// A wildcard address is listened on, but connected to by name.
fn reachable(mut address: SocketAddr) -> SocketAddr {
    match address.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => address.set_ip(Ipv4Addr::LOCALHOST.into()),
        IpAddr::V6(ip) if ip.is_unspecified() => address.set_ip(Ipv6Addr::LOCALHOST.into()),
        _ => {} // With the zone of a link-local address.
    }
    address
}

/// Most open connections, each a thread and a descriptor.
const CONNECTIONS_MAX: usize = 256;

/// Time for a request that is arriving when the server is told to end.
const DRAIN_GRACE: Duration = Duration::from_secs(5);

/// Between two tries to accept after one that failed.
const RETRY: Duration = Duration::from_millis(10);

/// Longest try to wake the accepting thread.
const WAKE: Duration = Duration::from_secs(1);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_taken_port_names_itself_and_the_way_out() {
        let first = Listener::bind("127.0.0.1", 0).unwrap();
        let port = first.address().port();
        let error = Listener::bind("127.0.0.1", port).unwrap_err().to_string();
        assert!(error.starts_with(&format!("127.0.0.1:{port} is already in use")), "{error}");
    }

    #[test]
    fn a_wildcard_is_reached_on_this_machine() {
        let check = |address: &str, want: &str| {
            assert_eq!(reachable(address.parse().unwrap()), want.parse().unwrap());
        };
        check("0.0.0.0:80", "127.0.0.1:80");
        check("[::]:80", "[::1]:80");
        check("192.168.0.2:80", "192.168.0.2:80");
        check("[fe80::1%7]:80", "[fe80::1%7]:80");
    }
}
