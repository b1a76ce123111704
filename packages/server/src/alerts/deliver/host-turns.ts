/** How many are under way at once, in all and at each host; the owners of those that wait for a host take turns. */

export interface Place {
  readonly host: string
  readonly owner: string
}

const MOST_AT_ONCE = 64
const MOST_BY_HOST = 8

interface Host<Work> {
  readonly name: string
  running: number
  /** By owner; the first is the one that was served longest ago. */
  readonly waiting: Map<string, Work[]>
}

export class HostTurns<Work> {
  readonly #run: (work: Work) => Promise<void>
  /** Those with waiting work; the first is the one that was served longest ago. */
  readonly #hosts = new Map<string, Host<Work>>()
  #running = 0

  /** `run` does not reject. */
  constructor(run: (work: Work) => Promise<void>) {
    this.#run = run
  }

  add(work: Work, { host: name, owner }: Place): void {
    const host = this.#hosts.get(name) ?? { name, running: 0, waiting: new Map() }
    this.#hosts.set(name, host)
    const list = host.waiting.get(owner)
    if (list === undefined) host.waiting.set(owner, [work])
    else list.push(work)
    this.#start()
  }

  #start(): void {
    for (const host of [...this.#hosts.values()]) {
      while (this.#running < MOST_AT_ONCE && host.running < MOST_BY_HOST && host.waiting.size > 0) {
        this.#hosts.delete(host.name)
        this.#hosts.set(host.name, host)
        this.#startOne(host)
      }
      if (this.#running >= MOST_AT_ONCE) return
    }
  }

  #startOne(host: Host<Work>): void {
    const [[owner, list] = ['', []]] = host.waiting
    const work = list.shift()
    host.waiting.delete(owner)
    if (list.length > 0) host.waiting.set(owner, list)
    if (work === undefined) return
    host.running++
    this.#running++
    this.#run(work).finally(() => {
      host.running--
      this.#running--
      if (host.running === 0 && host.waiting.size === 0) this.#hosts.delete(host.name)
      this.#start()
    })
  }
}
