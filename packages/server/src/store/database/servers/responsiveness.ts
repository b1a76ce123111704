/** Detects a database server that has stopped answering while long statements wait for it. */
import type { Pool, PoolClient } from 'pg'
import { destroyConnection, openSocket } from './pool-client.ts'

/** Once a statement takes longer than this, the server is probed, and then at this interval. */
const PATIENCE_MS = 2000
/** The longest wait for its answer. */
const ANSWER_MS = 3000

/**
 * A statement may take as long as its time limit, so a missing reply alone means nothing. The probe is something that a server
 * answers immediately; if it does not, every statement that was waiting by then fails.
 */
export class Responsiveness {
  /** When each connection in use was taken from its pool. */
  readonly #busy = new Map<PoolClient, number>()
  #timer: NodeJS.Timeout | undefined

  watch(pool: Pool): void {
    pool.on('acquire', (client) => {
      this.#busy.set(client, performance.now())
      this.#timer ??= this.#wait(PATIENCE_MS)
    })
    pool.on('release', (_error, client) => this.#busy.delete(client))
  }

  #wait(milliseconds: number): NodeJS.Timeout {
    return setTimeout(() => void this.#check(), milliseconds).unref()
  }

  async #check(): Promise<void> {
    const [oldest] = this.#busy
    if (oldest === undefined) {
      this.#timer = undefined
      return
    }
    const [client, since] = oldest
    const began = performance.now()
    const left = since + PATIENCE_MS - began
    if (left <= 0 && !(await answers(client))) {
      for (const [waiting, at] of [...this.#busy]) if (at <= began) destroyConnection(waiting, performance.now() - at)
    }
    this.#timer = this.#wait(left > 0 ? left : PATIENCE_MS)
  }
}

/** Every server answers an SSLRequest, before any authentication. A refused connection is an answer too. */
function answers(client: PoolClient): Promise<boolean> {
  const message = Buffer.alloc(8)
  message.writeInt32BE(8, 0)
  message.writeInt32BE(80_877_103, 4)
  return new Promise((resolve) => {
    const socket = openSocket(client)
    const timer = setTimeout(() => {
      socket.destroy()
      resolve(false)
    }, ANSWER_MS)
    const answered = (): void => {
      clearTimeout(timer)
      socket.destroy()
      resolve(true)
    }
    socket.once('data', answered).once('error', answered).once('close', answered).write(message)
  })
}
