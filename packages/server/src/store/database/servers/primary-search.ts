/** Finds the primary among several servers: all are asked at once, at short intervals while there is none. */
import type { Client } from 'pg'
import { formatAddress, type ServerAddress } from './addresses.ts'
import type { ServerIdentity } from './identity.ts'
import { ServerProbe } from './probe.ts'
import { UnfitServer } from './unfit-server.ts'

export interface PrimarySearchOptions {
  readonly addresses: readonly ServerAddress[]
  /** A server that has answered before is known. */
  readonly createClient: (address: ServerAddress, isKnown: boolean) => Client
  /** Asks also while the primary is known: another one may have been promoted. */
  readonly isWatching: boolean
  /** Why a server must not be used. */
  readonly refuse: (identity: ServerIdentity) => UnfitServer | undefined
  /** Another server is the primary now. */
  readonly onPrimary: (address: ServerAddress) => void
  /** Asks further questions of the primary. */
  readonly onAnswer: (client: Client, identity: ServerIdentity) => Promise<void>
}

/** How often each server is asked: so soon after its promotion a primary is found. */
const SEARCH_MS = 100
const WATCH_MS = 1000
/** Of two primaries the one with the later timeline counts, so that the other servers have this time to answer. */
const OTHERS_MS = 300
/** How long a node that stops waits for a primary. */
const HASTY_MS = 200

export class PrimarySearch {
  readonly #options: PrimarySearchOptions
  #probes: readonly ServerProbe[] = []
  #primary: ServerAddress | undefined
  /** Undefined while the primary is known, and was not found wanting since. */
  #searchingSince: number | undefined
  readonly #waiting = new Set<PromiseWithResolvers<ServerAddress>>()
  #isHasty = false
  #settle: NodeJS.Timeout | undefined
  #isStopped = false

  constructor(options: PrimarySearchOptions) {
    this.#options = options
  }

  /** The primary, at once if it is known. Rejects if none is found in time. */
  async find(withinMs: number): Promise<ServerAddress> {
    if (this.#primary !== undefined && this.#searchingSince === undefined) return this.#primary
    this.#begin()
    const search = Promise.withResolvers<ServerAddress>()
    this.#waiting.add(search)
    const timer = setTimeout(
      () => search.reject(this.#nothingFound()),
      this.#isHasty ? HASTY_MS : Math.max(0, withinMs),
    )
    try {
      return await search.promise
    } finally {
      clearTimeout(timer)
      this.#waiting.delete(search)
    }
  }

  /** The node stops: nothing waits for a primary any more. */
  hurry(): void {
    this.#isHasty = true
    for (const { reject } of [...this.#waiting]) reject(this.#nothingFound())
  }

  /** The server has failed; it may have ceased to be the primary. */
  suspect(address: ServerAddress | undefined): void {
    if (this.#isStopped || address === undefined || address !== this.#primary) return
    this.#begin()
  }

  async stop(): Promise<void> {
    this.#isStopped = true
    clearTimeout(this.#settle)
    await this.#stopProbes()
  }

  #begin(): void {
    if (this.#searchingSince === undefined) {
      this.#searchingSince = performance.now()
      // What a server said before does not count.
      for (const probe of this.#probes) probe.state = { status: 'unknown' }
    }
    if (this.#probes.length > 0) {
      for (const probe of this.#probes) probe.wake()
      return
    }
    const { addresses, createClient, onAnswer } = this.#options
    this.#probes = addresses.map(
      (address) =>
        new ServerProbe({
          address,
          createClient,
          pauseMs: () => (this.#searchingSince === undefined ? WATCH_MS : SEARCH_MS),
          onState: () => this.#decide(),
          onAnswer: async (client, identity) => {
            if (address === this.#primary) await onAnswer(client, identity)
          },
        }),
    )
  }

  #decide(): void {
    const best = this.#best()
    if (best === undefined) {
      this.#searchingSince ??= performance.now()
      return
    }
    const isOpen = this.#probes.some(({ state }) => state.status === 'unknown')
    const left = (this.#searchingSince ?? 0) + OTHERS_MS - performance.now()
    if (isOpen && left > 0) {
      clearTimeout(this.#settle)
      this.#settle = setTimeout(() => this.#decide(), left + 1)
      return
    }
    this.#take(best.address)
  }

  /** The server with the latest timeline; of equal ones the current primary, then the first in the list. */
  #best(): ServerProbe | undefined {
    let best: { readonly probe: ServerProbe; readonly timeline: number } | undefined
    for (const probe of this.#probes) {
      if (probe.state.status !== 'answers') continue
      const { identity } = probe.state
      if (this.#options.refuse(identity) !== undefined) continue
      const timeline = identity.timeline ?? 0
      const isBetter = best === undefined || timeline > best.timeline
      if (isBetter || (timeline === best?.timeline && probe.address === this.#primary)) best = { probe, timeline }
    }
    return best?.probe
  }

  #take(address: ServerAddress): void {
    const isOther = this.#primary !== undefined && this.#primary !== address
    this.#primary = address
    this.#searchingSince = undefined
    if (isOther) this.#options.onPrimary(address)
    for (const { resolve } of [...this.#waiting]) resolve(address)
    if (!this.#options.isWatching) void this.#stopProbes()
  }

  async #stopProbes(): Promise<void> {
    const probes = this.#probes
    this.#probes = []
    await Promise.all(probes.map((probe) => probe.stop()))
  }

  #nothingFound(): UnfitServer {
    const states = this.#probes.map(
      ({ address, state }) => `${formatAddress(address)} ${describe(state, this.#options.refuse)}`,
    )
    return new UnfitServer('GATEHOUSE_NO_PRIMARY', `No server of the database accepts writes: ${states.join('; ')}`)
  }
}

function describe(state: ServerProbe['state'], refuse: PrimarySearchOptions['refuse']): string {
  switch (state.status) {
    case 'unknown':
      return 'has not answered yet'
    case 'unreachable':
      return `cannot be reached (${state.error instanceof Error ? state.error.message : String(state.error)})`
    case 'answers':
      return REASONS[refuse(state.identity)?.code ?? 'GATEHOUSE_FAILED_OVER']
  }
}

const REASONS: Readonly<Record<UnfitServer['code'], string>> = {
  GATEHOUSE_NO_PRIMARY: 'is no primary',
  GATEHOUSE_STANDBY: 'is a standby, or read-only',
  GATEHOUSE_OLD_PRIMARY: 'is an old primary, which another has replaced',
  GATEHOUSE_OTHER_CLUSTER: 'belongs to another cluster',
  GATEHOUSE_FAILED_OVER: 'answers',
  GATEHOUSE_UNREPLICATED: 'answers',
}
