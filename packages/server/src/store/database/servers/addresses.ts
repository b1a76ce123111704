/** The servers that a PostgreSQL URL names, and which of them it asks for. The URL has passed the parser of the settings. */

export interface ServerAddress {
  /** A name, an address, or the folder of a Unix socket. */
  readonly host: string
  readonly port: number
}

/** As in libpq: `read-write` accepts no standby and no server that is read-only by default. */
export type TargetSession = 'any' | 'primary' | 'read-write'

export interface NamedServers {
  readonly addresses: readonly ServerAddress[]
  readonly target: TargetSession
  /** The URL names several servers, or says which it wants: the database can fail over. */
  readonly isFailover: boolean
  /** For the driver, which knows neither lists of hosts nor `target_session_attrs`. */
  readonly connectionString: string
}

const DEFAULT_PORT = 5432

export function namedServers(url: string): NamedServers {
  const address = new URL(url)
  const hosts = readList(address, 'host') ?? [decodeURIComponent(address.hostname)]
  const ports = readList(address, 'port') ?? [address.port]
  const target = address.searchParams.get('target_session_attrs')
  const isFailover = hosts.length > 1 || target !== null
  const addresses = hosts.map((host, index) => ({
    host: host.replace(/^\[(.*)\]$/, '$1') || 'localhost',
    port: Number(ports[index] ?? ports[0]) || DEFAULT_PORT,
  }))
  address.searchParams.delete('target_session_attrs')
  if (hosts.length > 1) for (const name of ['host', 'port']) address.searchParams.delete(name)
  return {
    addresses,
    target: parseTarget(target, isFailover),
    isFailover,
    connectionString: address.href,
  }
}

/** Where there are several, the server that can be written to is meant: Gatehouse always writes. */
function parseTarget(text: string | null, isFailover: boolean): TargetSession {
  if (text === 'any' || text === 'primary' || text === 'read-write') return text
  return isFailover ? 'read-write' : 'any'
}

function readList({ searchParams }: URL, name: string): string[] | undefined {
  const text = searchParams.get(name)
  return text === null || text === '' ? undefined : text.split(',')
}

export function formatAddress({ host, port }: ServerAddress): string {
  return host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`
}

/** The URL without credentials and parameters, for banners, logs and errors. */
export function withoutCredentials(url: string): string {
  const { protocol, host, pathname } = new URL(url)
  const { addresses } = namedServers(url)
  return `${protocol}//${addresses.length > 1 ? addresses.map(formatAddress).join(',') : host}${pathname}`
}
