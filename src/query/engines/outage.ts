/** Whether the database can be reached: one log line when a connection is lost, one when there is a connection again. */

export interface OutageLog {
  warn(fields: object, message: string): void
  info(fields: object, message: string): void
}

export class Outage {
  readonly #log: OutageLog | undefined
  #since: number | undefined

  constructor(log: OutageLog | undefined) {
    this.#log = log
  }

  lost(error: Error): void {
    if (this.#since !== undefined) return
    this.#since = performance.now()
    const code = 'code' in error ? error.code : undefined
    this.#log?.warn({ reason: error.message, code }, 'lost the connection to the database of queries')
  }

  connected(): void {
    if (this.#since === undefined) return
    const seconds = Math.round((performance.now() - this.#since) / 1000)
    this.#since = undefined
    this.#log?.info({ seconds }, 'connected to the database of queries again')
  }
}
