//! Whether a client is still there while nothing is written to it. tiny_http keeps the socket to
//! itself, so the kernel's connection table is asked (Linux; elsewhere nobody ever seems to
//! leave). It owns no connection.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::time::{Duration, Instant};

/// Watches the client's end of one connection.
pub(super) struct Peer {
    /// The server's port and the client's address.
    ends: Option<(u16, SocketAddr)>,
    looked: Option<Instant>,
    /// Whether the table ever showed the connection: one of another network namespace does not, and
    /// its absence then says nothing.
    seen: bool,
    /// Looks in a row that found the client gone.
    gone: u32,
}

impl Peer {
    pub(super) fn new(ends: Option<(u16, SocketAddr)>) -> Peer {
        Peer { ends, looked: None, seen: false, gone: 0 }
    }

    /// Whether the client left. Looks at most every [`LOOK_EVERY`]; two looks must agree, because
    /// the table is not read in one moment.
    pub(super) fn left(&mut self) -> bool {
        let Some((local_port, client)) = self.ends else { return false };
        if self.looked.is_none_or(|looked| looked.elapsed() >= LOOK_EVERY) {
            self.looked = Some(Instant::now());
            let table = connections(client.port()).unwrap_or_default();
            self.count(look(&table, local_port, client));
        }
        self.gone >= 2
    }

    fn count(&mut self, found: Found) {
        self.seen |= found != Found::Absent;
        let gone = found == Found::Closed || (found == Found::Absent && self.seen);
        self.gone = if gone { self.gone + 1 } else { 0 };
    }
}

/// What one look at the table says of a client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Found {
    /// The table has no such connection: it was reset, or the table is another namespace's.
    Absent,
    /// The client has closed its end.
    Closed,
    There,
}

/// A client that only ended its sending still waits for the answer; one on this machine shows
/// which it is, since a closed socket belongs to no process. From afar both look closed.
fn look(table: &[Connection], local_port: u16, client: SocketAddr) -> Found {
    let same = |address: SocketAddr| {
        address.port() == client.port() && address.ip().to_canonical() == client.ip().to_canonical()
    };
    let Some(ours) = table.iter().find(|c| c.local.port() == local_port && same(c.remote)) else {
        return Found::Absent;
    };
    let half_open = |c: &Connection| same(c.local) && c.remote.port() == local_port && c.inode != 0;
    let closed = ours.state == CLOSE_WAIT && !table.iter().any(half_open);
    if closed { Found::Closed } else { Found::There }
}

/// A line of `/proc/net/tcp`.
#[derive(Debug, PartialEq)]
struct Connection {
    local: SocketAddr,
    remote: SocketAddr,
    state: u8,
    inode: u64,
}

/// The table's lines with a client's port on either side; `None` where there is no table. It is
/// read line by line, since a busy machine has many thousands.
fn connections(client_port: u16) -> Option<Vec<Connection>> {
    let tables = ["/proc/net/tcp", "/proc/net/tcp6"].map(File::open);
    if tables.iter().all(Result::is_err) {
        return None;
    }
    let port = format!(":{client_port:04X} ");
    let mut found = Vec::new();
    for table in tables.into_iter().flatten() {
        let lines = BufReader::new(table).lines().map_while(Result::ok);
        found.extend(lines.filter(|line| line.contains(&port)).filter_map(|l| connection(&l)));
    }
    Some(found)
}

/// Columns as in the kernel's Documentation/networking/proc_net_tcp.rst.
fn connection(line: &str) -> Option<Connection> {
    let mut fields = line.split_ascii_whitespace();
    let local = address(fields.nth(1)?)?;
    let remote = address(fields.next()?)?;
    let state = u8::from_str_radix(fields.next()?, 16).ok()?;
    let inode = fields.nth(5)?.parse().ok()?;
    Some(Connection { local, remote, state, inode })
}

/// `IP:PORT` in hex. The address is printed word by word as the machine reads the network's bytes.
fn address(text: &str) -> Option<SocketAddr> {
    let (ip, port) = text.split_once(':')?;
    let word = |at: usize| -> Option<[u8; 4]> {
        Some(u32::from_str_radix(ip.get(at..at + 8)?, 16).ok()?.to_ne_bytes())
    };
    let ip = match ip.len() {
        8 => IpAddr::V4(Ipv4Addr::from(word(0)?)),
        32 => {
            let words = [word(0)?, word(8)?, word(16)?, word(24)?];
            let bytes: [u8; 16] = words.concat().try_into().ok()?;
            IpAddr::V6(Ipv6Addr::from(bytes))
        }
        _ => return None,
    };
    Some(SocketAddr::new(ip, u16::from_str_radix(port, 16).ok()?))
}

/// Between two looks.
pub(super) const LOOK_EVERY: Duration = Duration::from_millis(250);

/// The other side has ended its sending (include/net/tcp_states.h).
const CLOSE_WAIT: u8 = 8;

#[cfg(test)]
#[cfg(target_os = "linux")]
mod tests {
    use super::*;
    use std::net::{Shutdown, TcpListener, TcpStream};

    /// `leave` does to a connected client what is tested and keeps what must stay open.
    fn check(leave: fn(TcpStream) -> Option<TcpStream>, want: bool) {
        for host in ["127.0.0.1", "::1"] {
            let Ok(listener) = TcpListener::bind((host, 0)) else { continue };
            let port = listener.local_addr().unwrap().port();
            let client = TcpStream::connect((host, port)).unwrap();
            let (_server, address) = listener.accept().unwrap();
            let look = || look(&connections(address.port()).unwrap(), port, address);
            let gone = || look() != Found::There;
            assert!(!gone(), "{host}: a connected client is there");
            let _kept = leave(client);
            // The kernel delivers the end of a connection in its own time.
            let deadline = Instant::now() + Duration::from_millis(if want { 2000 } else { 50 });
            while Instant::now() < deadline && !(want && gone()) {
                std::thread::sleep(Duration::from_millis(5));
            }
            assert_eq!(gone(), want, "{host}");
        }
    }

    #[test]
    fn a_closed_connection_is_seen() {
        check(|_client| None, true);
    }

    #[test]
    fn a_client_that_only_ended_its_sending_is_there() {
        check(
            |client| {
                client.shutdown(Shutdown::Write).unwrap();
                Some(client)
            },
            false,
        );
    }

    #[test]
    fn absence_counts_only_after_presence() {
        let check = |looks: &[Found], want: bool| {
            let mut peer = Peer::new(None);
            looks.iter().for_each(|found| peer.count(*found));
            assert_eq!(peer.gone >= 2, want, "{looks:?}");
        };
        use Found::{Absent, Closed, There};
        check(&[Absent, Absent, Absent], false);
        check(&[There, Absent], false);
        check(&[There, Absent, Absent], true);
        check(&[Absent, There, Absent, Closed], true);
        check(&[Closed, Closed], true);
        check(&[There, Absent, There, Absent], false);
    }

    #[test]
    fn table_lines() {
        let line = "   2: 0100007F:1F90 0200A8C0:E084 08 00000000:00000000 00:00000000 00000000 \
                    0        0 17202 1 00000000343ecaaf 20 4 30 10 -1";
        let want = Connection {
            local: "127.0.0.1:8080".parse().unwrap(),
            remote: "192.168.0.2:57476".parse().unwrap(),
            state: CLOSE_WAIT,
            inode: 17202,
        };
        if cfg!(target_endian = "little") {
            assert_eq!(connection(line), Some(want));
            let v6 = address("0000000000000000FFFF00000100007F:1F90").unwrap();
            assert_eq!(v6, "[::ffff:127.0.0.1]:8080".parse().unwrap());
        }
        assert_eq!(connection("garbage"), None);
        assert_eq!(address("é000007F:1F90"), None);
    }
}
