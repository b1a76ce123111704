/** Calls every node at once, for example to list what runs there, and collects the replies that arrive within a second. */
import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Clock } from 'gatehouse-protocol'
import type { Nodes } from '../store/cluster/nodes.ts'
import type { Bus } from './bus.ts'

/** Strings only: they travel to other nodes as JSON. */
export type Params = Readonly<Record<string, string>>

export type Cluster = ReturnType<typeof openCluster>

export interface ClusterReplies {
  readonly replies: readonly { readonly node: string; readonly body: unknown }[]
  /** Nodes that are registered and did not reply in time. */
  readonly timedOut: readonly string[]
}

export interface ClusterOptions extends CallOptions {
  /** For people: host and process. */
  readonly name: string
  readonly issuer: string
  /** The name of a killed worker that this one replaces, so that calls do not wait until it expires. */
  readonly predecessor?: string | undefined
  readonly bus: Pick<Bus, 'publish' | 'subscribe' | 'settled'>
  readonly onError: (error: unknown) => void
}

export interface CallOptions {
  readonly nodes: Nodes
  readonly bus: Pick<Bus, 'publish'>
  readonly clock: Clock
}

const TIMEOUT_MS = 1_000
const FIRST_POLL_MS = 5
const LONGEST_POLL_MS = 80
/** How long a call stays on the bus, for nodes that receive it late. */
const CALL_KEPT_MS = 10_000

export function openCluster(options: ClusterOptions) {
  const { name, issuer, predecessor, bus, nodes, clock, onError } = options
  const self = { id: randomUUID(), name, issuer, startedAt: clock() }
  const { id } = self
  const handlers = new Map<string, (params: Params) => unknown>([['settled', () => bus.settled()]])
  const ownCalls = new Set<string>()
  const run = async (topic: string, params: Params): Promise<unknown> => (await handlers.get(topic)?.(params)) ?? null
  const callRest = async (topic: string, params: Params): Promise<ClusterReplies> => {
    const callId = randomUUID()
    ownCalls.add(callId)
    try {
      return await callOthers(options, { callId, topic, params, caller: id })
    } finally {
      ownCalls.delete(callId)
    }
  }
  const beat = () => nodes.heartbeat(self).catch(onError)

  const unsubscribe = bus.subscribe((event) => {
    if (event.kind !== 'nodes-asked' || ownCalls.has(event.question)) return
    run(event.topic, event.words)
      .then((body) => nodes.reply(event.question, id, JSON.stringify(body)))
      .catch(onError)
  })
  const registered = nodes.removeDead(predecessor).then(beat, onError)
  const beating = setInterval(beat, nodes.heartbeatMs)
  beating.unref()

  return {
    /** Resolves when other nodes can see this one. */
    registered,
    /** The reason why this node must stop serving, if there is one. */
    findConflict: () => nodes.findConflict(self),
    /** Registers what this node replies on a topic. A node without a handler replies null. */
    handle: (topic: string, handler: (params: Params) => unknown) => void handlers.set(topic, handler),
    async callAll(topic: string, params: Params = {}): Promise<ClusterReplies> {
      const own = { node: name, body: await run(topic, params) }
      const { replies, timedOut } = await callRest(topic, params)
      return { replies: [own, ...replies], timedOut }
    },
    /** A reply that is not null, of this node if it has one; undefined if there is none. */
    async callAny(topic: string, params: Params = {}): Promise<unknown> {
      return (await run(topic, params)) ?? firstReply(await callRest(topic, params))
    },
    /** Resolves when what was published before has taken effect on all nodes; within about a second, also if some do not answer. */
    async settle(): Promise<void> {
      await callRest('settled', {}).catch(onError)
    },
    async close(): Promise<void> {
      clearInterval(beating)
      unsubscribe()
      await registered
      await nodes.remove(id).catch(onError)
    },
  }
}

/** For a process that calls the nodes without being one. */
export function createClusterCaller(options: CallOptions): ClusterCaller {
  const callAll: Cluster['callAll'] = (topic, params = {}) =>
    callOthers(options, { callId: randomUUID(), topic, params, caller: '' })
  return {
    callAll,
    callAny: async (topic, params) => firstReply(await callAll(topic, params)),
    settle: async () => void (await callAll('settled')),
  }
}

export type ClusterCaller = Pick<Cluster, 'callAll' | 'callAny' | 'settle'>

function firstReply({ replies }: ClusterReplies): unknown {
  return replies.find(({ body }) => body !== null)?.body
}

interface Call {
  readonly callId: string
  readonly topic: string
  readonly params: Params
  /** The id of the calling node, which runs its own handler instead. */
  readonly caller: string
}

async function callOthers(
  { nodes, bus, clock }: CallOptions,
  { callId, topic, params, caller }: Call,
): Promise<ClusterReplies> {
  const others = (await nodes.list()).filter(({ id }) => id !== caller)
  if (others.length === 0) return { replies: [], timedOut: [] }
  try {
    const expiresAt = clock() + CALL_KEPT_MS
    await bus.publish({ kind: 'nodes-asked', question: callId, topic, words: params, expiresAt })
    const bodies = await pollReplies(
      nodes,
      callId,
      others.map(({ id }) => id),
    )
    const replies = others.flatMap(({ id, name }) => {
      const body = bodies.get(id)
      return body === undefined ? [] : [{ node: name, body: JSON.parse(body) as unknown }]
    })
    return { replies, timedOut: others.filter(({ id }) => !bodies.has(id)).map(({ name }) => name) }
  } finally {
    await nodes.deleteReplies(callId)
  }
}

async function pollReplies(
  nodes: Nodes,
  callId: string,
  expected: readonly string[],
): Promise<ReadonlyMap<string, string>> {
  const end = performance.now() + TIMEOUT_MS
  for (let pause = FIRST_POLL_MS; ; pause = Math.min(pause * 2, LONGEST_POLL_MS)) {
    await sleep(pause)
    const bodies = await nodes.repliesTo(callId)
    if (performance.now() >= end || expected.every((node) => bodies.has(node))) return bodies
  }
}
