/** Connections that a worker had been handed and had not taken when it ended. */
import type { Worker } from 'node:cluster'

/**
 * `node:cluster` closes its copy of a connection when the worker confirms it, and would keep that of a worker that was killed open
 * forever: its client would wait instead of trying again. A worker is handed one connection of a port at a time.
 */
export function closeLostConnections({ process: child }: Worker): void {
  const handed = new Map<unknown, { close(): void }>()
  const send: unknown = child.send
  if (typeof send !== 'function') return
  child.send = (...args: readonly unknown[]): boolean => {
    const [message, handle] = args
    if (isHandOver(message) && isCloseable(handle)) handed.set(message.key, handle)
    return Reflect.apply(send, child, args)
  }
  child.once('exit', () => {
    // Closing one that was taken, and is closed already, does nothing.
    for (const handle of handed.values()) handle.close()
  })
}

/** The message of `node:cluster`; its key stands for the port. */
function isHandOver(message: unknown): message is { readonly key: unknown } {
  return (
    typeof message === 'object' && message !== null && 'act' in message && message.act === 'newconn' && 'key' in message
  )
}

function isCloseable(handle: unknown): handle is { close(): void } {
  return typeof handle === 'object' && handle !== null && 'close' in handle && typeof handle.close === 'function'
}
