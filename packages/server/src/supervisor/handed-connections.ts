/** The connections that `node:cluster` hands to one worker, and the ports that it accepts them on. */
import type { Worker } from 'node:cluster'

interface Closeable {
  close(): void
}

export class HandedConnections {
  readonly #child: Worker['process']
  /** What the messages of `node:cluster` call the ports that the worker serves. */
  readonly #ports = new Set<unknown>()
  /** Those that the worker has not confirmed, by the number of the message. */
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
    // Node would keep its copy of a connection that was not confirmed open forever: its client would wait instead of trying again.
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
   * As if the worker had closed its ports, but at once: its own message would arrive later, after further connections. The last worker's
   * closes the port itself. If Node should not understand it, the worker closes them later.
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

/** A message of `node:cluster` about a port, which is called by its key. */
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
