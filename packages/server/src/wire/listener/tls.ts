/** TLS on accepted connections, after an SSLRequest or from the first byte. */
import { constants } from 'node:crypto'
import type { Socket } from 'node:net'
import { createServer, type Server, type TLSSocket } from 'node:tls'
import type { Certificate } from '../../http/listener.ts'
import { TLS_OPTIONS } from '../../http/listener.ts'

const PROTOCOL = 'postgresql'
/** A TLS 1.2 client could renegotiate again and again: Node's limit does not apply to connections that it did not accept itself. */
const OPTIONS = { ...TLS_OPTIONS, secureOptions: constants.SSL_OP_NO_RENEGOTIATION } as const

/** Called with undefined if the handshake failed. */
type OnSecured = (socket: TLSSocket | undefined) => void

export class TlsUpgrades {
  readonly #server: Server
  /** By remote address and port, because the TLS socket is not the socket that was accepted. */
  readonly #waiting = new Map<string, OnSecured>()

  constructor(certificate: Certificate, handshakeTimeoutMs: number) {
    // It never listens: it is given the connections that were accepted.
    this.#server = createServer({
      ...certificate,
      ...OPTIONS,
      ALPNProtocols: [PROTOCOL],
      handshakeTimeout: handshakeTimeoutMs,
    })
    this.#server.on('secureConnection', (socket) => {
      socket.on('error', () => {})
      this.#settle(socket, socket)
    })
    this.#server.on('tlsClientError', (_error, socket) => this.#settle(socket, undefined))
  }

  /** New connections use this certificate; open ones keep theirs. */
  setCertificate(certificate: Certificate): void {
    this.#server.setSecureContext({ ...certificate, ...OPTIONS })
  }

  /** What has been read of the connection must have been put back. */
  secure(socket: Socket, onSecured: OnSecured): void {
    const key = socketKey(socket)
    this.#waiting.set(key, onSecured)
    socket.once('close', () => this.#waiting.delete(key))
    this.#server.emit('connection', socket)
  }

  #settle(socket: Socket, secured: TLSSocket | undefined): void {
    const key = socketKey(socket)
    const onSecured = this.#waiting.get(key)
    this.#waiting.delete(key)
    onSecured?.(secured)
  }
}

/** PostgreSQL's direct TLS demands the protocol's name, so that no other server can be confused with it. */
export function namesProtocol({ alpnProtocol }: TLSSocket): boolean {
  return alpnProtocol === PROTOCOL
}

function socketKey({ remoteAddress, remotePort }: Socket): string {
  return `${remoteAddress} ${remotePort}`
}
