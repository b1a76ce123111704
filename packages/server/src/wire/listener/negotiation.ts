/** The beginning of a connection, before anyone is asked for a password: encryption, then the start-up packet or a CancelRequest. */
import type { Socket } from 'node:net'
import { TLSSocket } from 'node:tls'
import { ProtocolViolation } from '../protocol/messages.ts'
import { type FirstPacket, packetLength, parseFirstPacket, TLS_HANDSHAKE } from '../protocol/start-up.ts'
import { namesProtocol, type TlsUpgrades } from './tls.ts'

export type StartUp = Extract<FirstPacket, { kind: 'start-up' }>
export type CancelRequest = Extract<FirstPacket, { kind: 'cancel-request' }>

export interface NegotiationEnv {
  /** Undefined without a certificate. */
  readonly tls: TlsUpgrades | undefined
  /** `rest` has arrived after the packet. */
  onStartUp(socket: Socket, startUp: StartUp, rest: Buffer): void
  onCancel(socket: Socket, request: CancelRequest): void
  onOtherVersion(socket: Socket, version: string): void
  onViolation(socket: Socket, reason: string): void
}

const NOTHING = Buffer.alloc(0)

export class Negotiation {
  readonly #env: NegotiationEnv
  #socket: Socket
  #bytes: Buffer = NOTHING
  readonly #answered = new Set<FirstPacket['kind']>()

  constructor(socket: Socket, env: NegotiationEnv) {
    this.#env = env
    this.#socket = socket
    socket.on('data', this.#onData)
  }

  readonly #onData = (chunk: Buffer): void => {
    this.#bytes = this.#bytes.length === 0 ? chunk : Buffer.concat([this.#bytes, chunk])
    try {
      this.#read()
    } catch (error) {
      if (!(error instanceof ProtocolViolation)) throw error
      this.#release()
      this.#env.onViolation(this.#socket, error.message)
    }
  }

  #read(): void {
    if (this.#bytes[0] === TLS_HANDSHAKE && this.#mayBeginTls) {
      this.#beginDirectTls()
      return
    }
    const length = packetLength(this.#bytes)
    if (length === undefined || this.#bytes.length < length) return
    const packet = parseFirstPacket(this.#bytes.subarray(0, length))
    const rest = this.#bytes.subarray(length)
    this.#bytes = NOTHING
    this.#take(packet, rest)
  }

  #take(packet: FirstPacket, rest: Buffer): void {
    switch (packet.kind) {
      case 'ssl-request':
      case 'gssenc-request':
        this.#answerEncryption(packet.kind, rest)
        break
      case 'cancel-request':
        this.#release()
        this.#env.onCancel(this.#socket, packet)
        break
      case 'start-up':
        this.#release()
        this.#env.onStartUp(this.#socket, packet, rest)
        break
      case 'other-version':
        this.#release()
        this.#env.onOtherVersion(this.#socket, `${packet.major}.${packet.minor}`)
        break
    }
  }

  #answerEncryption(kind: 'ssl-request' | 'gssenc-request', rest: Buffer): void {
    if (this.#isEncrypted || this.#answered.has(kind))
      throw new ProtocolViolation('Encryption was requested a second time')
    // Bytes that someone in between has put before the encrypted ones would be taken for the client's (CVE-2021-23214).
    if (rest.length > 0) throw new ProtocolViolation('Bytes were sent before the request for encryption was answered')
    this.#answered.add(kind)
    const { tls } = this.#env
    if (kind === 'gssenc-request' || tls === undefined) {
      this.#socket.write('N')
      return
    }
    this.#release()
    this.#socket.write('S')
    tls.secure(this.#socket, (secured) => this.#continueOn(secured))
  }

  get #isEncrypted(): boolean {
    return this.#socket instanceof TLSSocket
  }

  get #mayBeginTls(): boolean {
    return !this.#isEncrypted && this.#answered.size === 0
  }

  #beginDirectTls(): void {
    const { tls } = this.#env
    const socket = this.#socket
    if (tls === undefined) {
      socket.destroy()
      return
    }
    this.#release()
    socket.unshift(this.#bytes)
    this.#bytes = NOTHING
    tls.secure(socket, (secured) => this.#continueOn(secured && namesProtocol(secured) ? secured : end(secured)))
  }

  #continueOn(secured: TLSSocket | undefined): void {
    if (secured === undefined) {
      this.#socket.destroy()
      return
    }
    this.#socket = secured
    secured.on('data', this.#onData)
  }

  #release(): void {
    this.#socket.off('data', this.#onData)
    this.#socket.pause()
  }
}

function end(socket: Socket | undefined): undefined {
  socket?.destroy()
}
