/** The tools that follow a result or a feed: `watch` gives it whole, `changes` what has changed since. Nothing stays open between calls. */
import { Refusal } from 'gatehouse-protocol'
import { type FeedService, writeLabels } from '../../feeds/feeds.ts'
import type { LiveQueries } from '../../query/index.ts'
import type { Call } from '../protocol/features.ts'
import type { JsonObject } from '../protocol/json.ts'
import { counted, escapeJson } from '../text/escape.ts'
import {
  type Budget,
  type ChangedRows,
  type Column,
  licenceMember,
  takeJsonChanges,
  writeChanges,
  writeRows,
} from '../text/rows.ts'
import { readFeedChanges } from '../watches/feed-changes.ts'
import { type FirstRead, type LiveChanges, readLiveChanges } from '../watches/live-changes.ts'
import type { Watched, WatchStore } from '../watches/watch-store.ts'
import type { Arguments } from './arguments.ts'
import type { AskedStatement } from './expense.ts'
import { labelText, requireFeeds, shortData, writeMessages } from './feeds.ts'
import { FORMAT, object, PARAMETERS, STATEMENT } from './schemas.ts'
import type { Statements } from './statements.ts'
import type { Outcome, Recorded, ToolDefinition } from './tool-set.ts'

export interface WatchEnv {
  readonly statements: Statements
  readonly live: LiveQueries
  readonly feeds: () => FeedService | undefined
  readonly store: WatchStore
}

type WatchedStatement = Extract<Watched, { kind: 'statement' }>

const BUDGET = { rows: 200, bytes: 32 * 1024 }
/** A chart draws as many, and follows its rows by them. */
const JSON_CHANGES = { rows: 1_000, bytes: BUDGET.bytes }
/** No more than this is read. */
const READ = { ...BUDGET, changes: JSON_CHANGES.rows }
const MAX_WAIT = 30
/** How often the token of a caller who waits is checked. */
const CHECK_MS = 250
const FEED = { type: 'string', minLength: 1, maxLength: 128 } as const
const TOPIC = { type: 'string', minLength: 1, maxLength: 256 } as const

export function watchTool(env: WatchEnv): ToolDefinition {
  return {
    name: 'watch',
    title: 'Watch a result or a feed',
    description:
      'Gives the result of a statement, or the state of a topic of a feed, with an id and a number for changes, which gives what has changed since. It ends an hour after its last use.',
    example: { statement: 'SELECT * FROM trades WHERE id = 1' },
    inputSchema: object([], { statement: STATEMENT, parameters: PARAMETERS, feed: FEED, topic: TOPIC, format: FORMAT }),
    async run(args, call, recorded) {
      const watched = readWatched(args)
      if (watched.kind === 'feed') noteFeed(watched, recorded)
      const state = await readState(watched, undefined, call, NOW, env, (asked, read) =>
        env.statements.readLive(asked, call, read),
      )
      if (watched.kind === 'statement') await noteStatement(watched, recorded, call, env)
      const { id, since } = await env.store.create(call.principal, state.watched, state.position)
      return writeState(state, id, since, isJson(args))
    },
  }
}

export function changesTool(env: WatchEnv): ToolDefinition {
  return {
    name: 'changes',
    title: 'What has changed',
    description:
      'What has changed in a watch since a number, and the next number; a reset with the whole result if that is not known any more. With wait it waits for a change.',
    example: { id: 'kDz3vX9Qpw1A', since: 1 },
    inputSchema: object(['id', 'since'], {
      id: { type: 'string', maxLength: 64 },
      since: { type: 'integer', minimum: 0, description: 'The number that the last call gave.' },
      wait: {
        type: 'number',
        minimum: 0,
        maximum: MAX_WAIT,
        description: 'Seconds to wait for a change; 0 where absent.',
      },
      format: FORMAT,
    }),
    async run(args, call, recorded) {
      const watch = await env.store.find(args.text('id') ?? '', call.principal)
      await noteWatched(watch.watched, recorded, call, env)
      const waiting = new Waiting((args.number('wait') ?? 0) * 1000, call)
      try {
        const since = watch.position(args.number('since') ?? 0)
        const state = await readState(watch.watched, since, call, waiting.over, env)
        await waiting.requireUnchanged()
        const number = await env.store.note(watch, state.watched, state.position, call.principal)
        return writeState(state, watch.id, number, isJson(args))
      } finally {
        waiting.stop()
      }
    },
  }
}

async function noteWatched(watched: Watched, recorded: Recorded, call: Call, env: WatchEnv): Promise<void> {
  if (watched.kind === 'feed') noteFeed(watched, recorded)
  else await noteStatement(watched, recorded, call, env)
}

function noteFeed({ feed, topic }: Extract<Watched, { kind: 'feed' }>, recorded: Recorded): void {
  recorded.feed = feed
  recorded.topic = topic
}

async function noteStatement(
  { statement }: WatchedStatement,
  recorded: Recorded,
  call: Call,
  { statements }: WatchEnv,
): Promise<void> {
  recorded.statement = statement
  recorded.tables = await statements.listTables(statement, call)
}

const NOW = Promise.resolve()

/** What a caller waits for besides a change: the time, its leaving, and another right. */
class Waiting {
  readonly over: Promise<void>
  readonly #call: Call
  readonly #timers: NodeJS.Timeout[] = []

  constructor(milliseconds: number, call: Call) {
    this.#call = call
    this.over = new Promise((resolve) => {
      this.#timers.push(setTimeout(resolve, milliseconds))
      call.signal.addEventListener('abort', () => resolve(), { once: true })
      const check = async () => {
        // While that cannot be known, nothing is given: it is asked again at the end.
        if (!(await call.isUnchanged().catch(() => true))) resolve()
      }
      this.#timers.push(setInterval(() => void check(), CHECK_MS))
    })
  }

  /** What was read for other rights is not given. */
  async requireUnchanged(): Promise<void> {
    if (!(await this.#call.isUnchanged()))
      throw new Refusal('mcp.rights', 403, 'The rights of the caller have changed meanwhile: call again')
  }

  stop(): void {
    for (const timer of this.#timers) clearTimeout(timer)
  }
}

function readWatched(args: Arguments): Watched {
  const [statement, feed, topic] = [args.text('statement'), args.text('feed'), args.text('topic')]
  if (statement !== undefined && feed === undefined && topic === undefined)
    return { kind: 'statement', statement, parameters: args.object('parameters') ?? {}, columns: [] }
  if (statement === undefined && feed !== undefined && topic !== undefined) return { kind: 'feed', feed, topic }
  throw new Refusal('mcp.arguments', 422, 'watch takes a statement, or a feed and a topic')
}

type ReadFirstOf = <Result>(asked: AskedStatement, read: FirstRead<Result>) => Promise<Result>

interface State {
  readonly watched: Watched
  readonly position: string
  readonly isWhole: boolean
  /** As text, and as an object. */
  readonly text: string
  readonly structured: JsonObject
  readonly count: number
  /** How many rows or messages each of them has, which count against the rows of a day. */
  readonly shown: { readonly text: number; readonly json: number }
}

/** `readFirst`: nobody is asked about a watch that there is already. */
async function readState(
  watched: Watched,
  since: string | undefined,
  call: Call,
  until: Promise<unknown>,
  { statements, live, feeds }: WatchEnv,
  readFirst: ReadFirstOf = (_, read) => statements.inTurn(call.principal, () => read(call.signal)),
): Promise<State> {
  if (watched.kind === 'statement') {
    const reading = { resume: since, budget: READ }
    const changes = await readLiveChanges(live, watched, reading, call, until, (read) => readFirst(watched, read))
    return describeChanges(changes, watched)
  }
  const { feed, topic } = watched
  const found = await readFeedChanges(requireFeeds(feeds()), feed, topic, since, call, until)
  const { isWhole, messages, hasMore, position, labels } = found
  const { lines, shown } = writeMessages(messages, BUDGET.bytes)
  const tail = hasMore ? ['# More follow: call changes again.'] : []
  const structured = {
    messages: messages.slice(messages.length - shown).map((message) => ({
      topic: message.topic,
      time: new Date(message.time).toISOString(),
      data: message.data === undefined ? null : shortData(message.data),
    })),
    more: hasMore,
    skipped: messages.length - shown,
    ...(labels.length > 0 && { licence: writeLabels(feed, labels) }),
  }
  const cut = shown < messages.length ? `, the newest ${shown} that fit` : ''
  const text = [`${counted(messages.length, 'message')}${cut}${labelText(labels)}`, ...lines, ...tail].join('\n')
  const both = { text: shown, json: shown }
  return { watched, position, isWhole, text, structured, count: messages.length, shown: both }
}

function describeChanges(changes: LiveChanges, watched: WatchedStatement): State {
  const { columns, put, counts, position, licence, asOf } = changes
  const count = counts.put + counts.remove
  if (columns !== undefined) {
    const rows = put.slice(0, BUDGET.rows).map(({ row }) => row)
    const whole = { columns, rows, hasMore: rows.length < counts.put, licence }
    const { text, shown } = writeRows(whole, BUDGET, 'text', undefined)
    const keyed = keyedRows(columns, changes, BUDGET)
    const written = { text, structured: { ...keyed, ...licenceMember(licence) } }
    const both = { text: shown, json: keyed.rows.length }
    return { watched: { ...watched, columns }, position, isWhole: true, ...written, count, shown: both }
  }
  const lines = writeChanges(watched.columns, changes, BUDGET)
  const text = asOf === undefined ? lines.text : `${lines.text}\n# as of ${asOf}`
  const taken = takeJsonChanges(watched.columns, changes, JSON_CHANGES)
  const structured = { columns: watched.columns, ...taken, ...(asOf !== undefined && { as_of: asOf }) }
  const both = { text: lines.shown, json: taken.put.length + taken.remove.length }
  return { watched, position, isWhole: false, text, structured, count, shown: both }
}

/** A whole result, and the key of each row, by which later changes are applied. */
export function keyedRows(columns: readonly Column[], whole: ChangedRows, budget: Budget) {
  const { put, more } = takeJsonChanges(columns, whole, budget)
  return { columns, rows: put.map(({ row }) => row), keys: put.map(({ key }) => key), more, after: null }
}

/** The head has what the next call needs. */
function writeState(
  { isWhole, text, structured, count, shown }: State,
  id: string,
  since: number,
  wantsJson: boolean,
): Outcome {
  if (wantsJson) {
    const all = { id, since, reset: isWhole, ...structured }
    return { text: escapeJson(JSON.stringify(all)), structured: all, rows: shown.json }
  }
  const kind = isWhole ? 'whole' : count === 0 ? 'nothing has changed' : 'changes'
  const body = count === 0 && !isWhole ? [] : [text]
  return { text: [`watch ${id} · since ${since} · ${kind}`, ...body].join('\n'), rows: shown.text }
}

function isJson(args: Arguments): boolean {
  return args.text('format') === 'json'
}

/** The whole result of a watch, for its resource. */
export async function readWatchedNow(id: string, call: Call, recorded: Recorded, env: WatchEnv): Promise<Outcome> {
  const { watched } = await env.store.find(id, call.principal)
  await noteWatched(watched, recorded, call, env)
  const { text, shown } = await readState(watched, undefined, call, NOW, env)
  return { text, rows: shown.text }
}
