/** One worker as the supervisor sees it: a process that starts, answers, stops and ends. */
import cluster, { type Worker } from 'node:cluster'
import { HandedConnections } from './handed-connections.ts'
import type { FromWorker, StartOrder, ToWorker } from './messages.ts'

/** A worker did not start; the message is for the operator. */
export class StartRefused extends Error {
  override name = 'StartRefused'
}

export interface Ended {
  readonly code: number | null
  readonly signal: string | null
}

export class WorkerProcess {
  readonly number: number
  /** Rejects with StartRefused if the process ends before it answers. */
  readonly started: Promise<void>
  /** Resolves when it stops and needs no further connections. */
  readonly closing: Promise<void>
  readonly ended: Promise<Ended>
  state: 'starting' | 'answering' | 'stopping' | 'ended' = 'starting'
  readonly connections: HandedConnections
  readonly #worker: Worker
  #onMessage: (message: FromWorker) => void = () => {}

  constructor(order: StartOrder) {
    this.number = order.number
    const worker = cluster.fork()
    this.#worker = worker
    this.connections = new HandedConnections(worker)
    const { promise: ended, resolve: end } = Promise.withResolvers<Ended>()
    const { promise: closing, resolve: close } = Promise.withResolvers<void>()
    const { promise: started, resolve: start, reject: refuse } = Promise.withResolvers<void>()
    this.ended = ended
    this.closing = closing
    this.started = started
    // A caller that does not wait for the start does not have to handle its failure.
    started.catch(() => {})
    worker.on('message', (message: FromWorker) => {
      if (message.kind === 'online') this.send({ kind: 'start', order })
      else if (message.kind === 'refused') refuse(new StartRefused(message.reason))
      else if (message.kind === 'closing') close()
      else if (message.kind === 'started') {
        if (this.state === 'starting') this.state = 'answering'
        start()
      }
      this.#onMessage(message)
    })
    // The process has already ended; the event `exit` reports it.
    worker.on('error', () => {})
    worker.once('exit', (code, signal) => {
      this.state = 'ended'
      refuse(new StartRefused(`A worker ended during its start (${describeEnd({ code, signal })}).`))
      close()
      end({ code, signal })
    })
  }

  get pid(): number | undefined {
    return this.#worker.process.pid
  }

  onMessage(listener: (message: FromWorker) => void): void {
    this.#onMessage = listener
  }

  send(message: ToWorker): void {
    if (this.#worker.isConnected()) this.#worker.send(message)
  }

  /** A replaced worker does not announce that the machine stops. */
  async stop(isReplaced: boolean): Promise<Ended> {
    if (this.state !== 'ended') this.state = 'stopping'
    this.send({ kind: 'stop', isReplaced })
    return this.ended
  }

  /** Nothing else stops a worker that does not answer. */
  kill(): void {
    this.#worker.process.kill('SIGKILL')
  }
}

export function describeEnd({ code, signal }: Ended): string {
  return signal === null ? `status ${code}` : `signal ${signal}`
}
