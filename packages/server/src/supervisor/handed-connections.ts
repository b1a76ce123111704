/** The connections that `node:cluster` hands to one worker, and the ports that it accepts them on. */
import type { Worker } from 'node:cluster'

interface Closeable {
  close(): void
}

export class HandedConnections {
  readonly #child: Worker['process']
  /** The keys by which the messages of `node:cluster` name the ports that the worker serves. */
  readonly #ports = new Set<unknown>()
  /** Connections that the worker has not confirmed, by the number of the message. */
  readonly #waiting = new Map<unknown, Closeable>()
  #count = 0

  constructor({ process: child }: Worker) {
    this.#child = child
    const send: unknown = child.send
    if (typeof send !== 'function') return
    child.send = (...args: readonly unknown[]): boolean => {
      const [message, handle] = args
      if (isAboutPort(message)) this.#note(message, handle)
      return Reflect.apply(send, child, args)
    }
    child.on('internalMessage', (message: unknown) => {
      if (typeof message === 'object' && message !== null && 'ack' in message) this.#waiting.delete(message.ack)
    })
    // Node never closes its copy of an unconfirmed connection: the client would wait forever instead of trying again.
    child.once('exit', () => {
      for (const handle of this.#waiting.values()) handle.close()
    })
  }

  get count(): number {
    return this.#count
  }

  get areConfirmed(): boolean {
    return this.#waiting.size === 0
  }

  /**
   * Simulates the message with which the worker closes its ports: its own would arrive later, after further connections. When the
   * last worker closes a port, Node stops listening. If a version of Node ignores this message, the worker closes the ports itself.
   */
  closePorts(): void {
    for (const key of this.#ports) this.#child.emit('internalMessage', { cmd: 'NODE_CLUSTER', act: 'close', key })
  }

  #note(message: AboutPort, handle: unknown): void {
    this.#ports.add(message.key)
    if (message.act !== 'newconn' || !isCloseable(handle)) return
    this.#count++
    this.#waiting.set(message.seq, handle)
  }
}

/** A message of `node:cluster` about a port, which it names by a key. */
interface AboutPort {
  readonly key: unknown
  readonly act?: unknown
  readonly seq?: unknown
}

function isAboutPort(message: unknown): message is AboutPort {
  return typeof message === 'object' && message !== null && 'cmd' in message && 'key' in message
}

function isCloseable(handle: unknown): handle is Closeable {
  return typeof handle === 'object' && handle !== null && 'close' in handle && typeof handle.close === 'function'
}
