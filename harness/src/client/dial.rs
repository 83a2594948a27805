//! From a URL to a connection: its name is looked up, the addresses are tried in turn. Every wait
//! is in short slices, so that `--timeout-connect` and the operator's word end it. Nothing is sent.

use super::clock::Clock;
use super::transport::{Fault, FaultKind};
use super::watched::{SLICE, Watch, Watched};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketType};
use std::io;
use std::net::{IpAddr, SocketAddr, TcpStream, ToSocketAddrs};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;
use ureq::http::Uri;
use ureq::unversioned::resolver::{ResolvedSocketAddrs, Resolver};
use ureq::unversioned::transport::{ConnectionDetails, Connector, NextTimeout};

/// Most addresses of a name that are tried: as many as ureq has room for.
const MAX_ADDRESSES: usize = 16;

/// Looks up and connects for one request.
#[derive(Debug, Clone)]
pub(super) struct Dial {
    pub(super) watch: Watch,
}

impl Resolver for Dial {
    fn resolve(
        &self,
        uri: &Uri,
        _config: &ureq::config::Config,
        _timeout: NextTimeout,
    ) -> Result<ResolvedSocketAddrs, ureq::Error> {
        let (host, port) = (uri.host().unwrap_or_default(), uri.port_u16().unwrap_or(80));
        let v6 = host.strip_prefix('[').and_then(|host| host.strip_suffix(']'));
        let found = match v6.unwrap_or(host).parse::<IpAddr>() {
            Ok(address) => vec![SocketAddr::new(address, port)],
            Err(_) => self.look_up(uri, host, port).map_err(io::Error::other)?,
        };
        let mut addresses = self.empty();
        found.into_iter().take(MAX_ADDRESSES).for_each(|address| addresses.push(address));
        Ok(addresses)
    }
}

impl Dial {
    fn look_up(&self, uri: &Uri, host: &str, port: u16) -> Result<Vec<SocketAddr>, Fault> {
        let (sender, receiver) = mpsc::channel();
        let name = host.to_string();
        // The system's resolver cannot be interrupted. It may outlive the wait for it, and then
        // nobody listens.
        thread::spawn(move || {
            let found = (name.as_str(), port).to_socket_addrs();
            let _ = sender.send(found.map(|addresses| addresses.collect::<Vec<_>>()));
        });
        let problem = loop {
            match receiver.recv_timeout(self.watch.connecting(uri)?.min(SLICE)) {
                Ok(Ok(addresses)) if addresses.is_empty() => break "it has no address".to_string(),
                Ok(Ok(addresses)) => return Ok(addresses),
                Ok(Err(error)) => break error.to_string(),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break "the resolver broke".to_string(),
            }
        };
        let remedy = "check the name, or give the server's IP address";
        Err(Fault::new(FaultKind::Connect, format!("host `{host}`: {problem}; {remedy}")))
    }

    /// `None` if the address did not answer within its share of the time.
    fn connect_to(
        &self,
        uri: &Uri,
        address: SocketAddr,
        share: Duration,
    ) -> io::Result<Option<TcpStream>> {
        let stream = begin(address)?;
        let began_ns = self.watch.clock.now_ns();
        loop {
            let left = self.watch.connecting(uri).map_err(io::Error::other)?;
            let Some(share) = self.watch.left(share, began_ns) else { return Ok(None) };
            let slice = Timespec::try_from(left.min(share).min(SLICE)).map_err(io::Error::other)?;
            match poll(&mut [PollFd::new(&stream, PollFlags::OUT)], Some(&slice)) {
                Ok(0) | Err(Errno::INTR) => {}
                Ok(_) => {
                    stream.take_error()?.map_or(Ok(()), Err)?;
                    stream.set_nonblocking(false)?;
                    return Ok(Some(stream));
                }
                Err(error) => return Err(error.into()),
            }
        }
    }
}

/// A connection under way.
fn begin(address: SocketAddr) -> io::Result<TcpStream> {
    let family = if address.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
    let stream = TcpStream::from(rustix::net::socket(family, SocketType::STREAM, None)?);
    stream.set_nonblocking(true)?;
    match rustix::net::connect(&stream, &address) {
        Ok(()) | Err(Errno::INPROGRESS) => Ok(stream),
        Err(error) => Err(error.into()),
    }
}

impl Connector for Dial {
    type Out = Watched;

    fn connect(
        &self,
        details: &ConnectionDetails,
        _chained: Option<()>,
    ) -> Result<Option<Watched>, ureq::Error> {
        let (uri, mut last_error) = (details.uri, None);
        for (i, address) in details.addrs.iter().enumerate() {
            let left = self.watch.connecting(uri).map_err(io::Error::other)?;
            let share = left / (details.addrs.len() - i) as u32;
            match self.connect_to(uri, *address, share) {
                Ok(Some(stream)) => {
                    return Ok(Some(Watched::new(stream, details.config, self.watch.clone())?));
                }
                Ok(None) => {}
                Err(error) if error.get_ref().is_some_and(|inner| inner.is::<Fault>()) => {
                    return Err(error.into());
                }
                Err(error) => last_error = Some(error),
            }
        }
        let fault = match last_error {
            Some(error) => {
                let message = format!("cannot connect to {}: {error}", place(uri));
                Fault::new(FaultKind::Connect, message)
            }
            None => self.watch.unconnected(uri),
        };
        Err(io::Error::other(fault).into())
    }
}

/// The server as a [`super::base_url::BaseUrl`] prints it.
pub(super) fn place(uri: &Uri) -> String {
    format!("http://{}", uri.authority().map_or("", |authority| authority.as_str()))
}
