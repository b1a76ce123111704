/** The HTTP endpoints of feeds: publish, remove, read and follow. */
import { hash } from 'node:crypto'
import {
  type Authenticate,
  type Clock,
  opensPlatform,
  type Principal,
  Refusal,
  type StepUpNeed,
  toProblem,
} from 'gatehouse-protocol'
import type { Context } from '../../http/context.ts'
import { dataLines, EVENT_STREAM, EventResponse, type EventRules } from '../../http/events/event-response.ts'
import { OpenResponses, type OpenResponsesEnv } from '../../http/events/open-responses.ts'
import { FAULT, logFailure } from '../../http/problem.ts'
import { byQuality } from '../../http/request/accept.ts'
import { insufficientScope } from '../../http/request/authentication.ts'
import { isText, targetPath } from '../../http/request/request-head.ts'
import type { BodyRule, Route, RouteGroup } from '../../http/route.ts'
import { afterTurns } from '../../lib/turns.ts'
import type { PublishOnce, StoredMessage } from '../engine.ts'
import { type Feed, type TopicChoice, topicChoice, topicFault } from '../feed.ts'
import type { FeedView } from '../feed-view.ts'
import { writeLabels } from '../licences.ts'
import type { FeedMessage } from '../message.ts'
import type { OpenFeed } from '../open-feed.ts'
import { refuse, refuseForNow } from '../refusals.ts'
import { mayRead, mayWrite } from '../rights.ts'
import { type FeedService, MAX_LAST, MAX_RATE, MIN_RATE, type RequestOrigin } from '../service.ts'
import { CLOUD_EVENT, JSON_BODY, type MessagesToPublish, NDJSON, readData, readMessages } from './read-messages.ts'

export interface FeedRoutesEnv {
  readonly feeds: FeedService
  readonly authenticate: Authenticate
  readonly bus: OpenResponsesEnv['bus']
  readonly clock: Clock
  /** How many event streams one user or client may have open on this node. */
  readonly maxPerCaller: () => number
}

const BODY_BYTES = 8 * 1024 * 1024
const ONE: BodyRule = { limit: 2 * 1024 * 1024, types: [JSON_BODY] }
const MANY: BodyRule = { limit: BODY_BYTES, types: [JSON_BODY, NDJSON, CLOUD_EVENT] }
/** Any scope of the platform; what a feed needs is checked by the service. */
const access = (principal: Principal): void => {
  if (![...principal.scopes].some(opensPlatform)) throw insufficientScope('This needs a scope of the platform')
}

export class FeedEndpoints {
  readonly #env: FeedRoutesEnv
  readonly #open: OpenResponses<FeedMessage>
  /** Event streams by caller. */
  readonly #followers = new Map<string, number>()

  constructor(env: FeedRoutesEnv) {
    this.#env = env
    this.#open = new OpenResponses({
      authenticate: env.authenticate,
      bus: env.bus,
      requireAccess: access,
      invalidToken: () => new Refusal('access.invalid_token', 401, 'The access token is no longer valid'),
    })
  }

  get group(): RouteGroup {
    const route = (method: Route['method'], path: string, handle: Route['handle'], body?: BodyRule): Route => ({
      ...{ method, path, access, handle },
      ...(body === undefined ? {} : { body }),
    })
    return {
      at: ['/feeds'],
      limit: 'feeds',
      headers: { 'cache-control': 'no-store' },
      routes: [
        route('GET', '/feeds', (context) => this.#list(context)),
        route('GET', '/feeds/:feed', (context) => this.#topics(context)),
        route('POST', '/feeds/:feed', (context) => this.#publishMany(context), MANY),
        route('GET', '/feeds/:feed/:topic*', (context) => this.#read(context)),
        route('POST', '/feeds/:feed/:topic*', (context) => this.#publishOne(context), ONE),
        route('DELETE', '/feeds/:feed/:topic*', (context) => this.#remove(context)),
      ],
    }
  }

  /** Ends the event streams: clients connect again elsewhere. */
  stop(): void {
    this.#open.stop()
  }

  /** GET /feeds: those that the caller may use. */
  #list(context: Context): void {
    const { principal } = context
    const items = this.#env.feeds
      .list()
      .filter((feed) => mayRead(feed, principal) || mayWrite(feed, principal))
      .map((feed) => describe(feed, principal))
    context.json({ items })
  }

  #publishOne(context: Context): Promise<void> {
    return this.#publish(context, readData(context, readTopic(context)))
  }

  #publishMany(context: Context): void | Promise<void> {
    const type = (context.headers['content-type'] ?? JSON_BODY).split(';')[0]?.trim().toLowerCase() ?? JSON_BODY
    return afterTurns(readMessages(context, type), (read) => this.#publish(context, read))
  }

  async #publish(context: Context, read: MessagesToPublish): Promise<void> {
    const { messages } = read
    const once = readIdempotencyKey(context, read)
    const position = await this.#env.feeds.publish(
      context.param('feed'),
      messages,
      context.principal,
      once,
      requestOrigin(context),
    )
    context.json({ Published: messages.length, ...(position === undefined ? {} : { Position: position }) })
  }

  async #remove(context: Context): Promise<void> {
    const topic = readTopic(context)
    // A caller who may not remove a topic does not learn whether it exists.
    const feed = this.#env.feeds.findToWrite(context.param('feed'), context.principal, requestOrigin(context))
    const once = readIdempotencyKey(context)
    if (topicFault(topic) === undefined && (await newest(feed, topic)) === undefined) {
      if (once === undefined || !(await feed.store.wasAppended(once)))
        throw refuse('feed.no_topic', `The topic ${JSON.stringify(topic)} holds no message`)
      context.end(204)
      return
    }
    const { name } = feed.definition
    await this.#env.feeds.publish(name, [{ topic, data: undefined }], context.principal, once, requestOrigin(context))
    context.end(204)
  }

  /** GET /feeds/{feed}: its topics. */
  async #topics(context: Context): Promise<void> {
    const limit = integer(context, 'limit', 1, 1_000) ?? 100
    const prefix = single(context, 'prefix') ?? ''
    const after = single(context, 'after')
    const feed = await this.#openView(context, { kind: 'prefix', prefix })
    const topics = await feed.listTopics({ prefix, after, limit: limit + 1 }).finally(() => feed.close())
    const items = topics.slice(0, limit).map(({ topic, time, messages }) => ({
      Topic: topic,
      Time: new Date(time).toISOString(),
      Messages: messages,
    }))
    const next = topics.length > limit ? items.at(-1)?.Topic : undefined
    setLicence(context, feed)
    context.json({
      ...describe(feed.definition, context.principal),
      ...licenceMember(feed),
      items,
      ...(next === undefined ? {} : { next }),
    })
  }

  #openView(context: Context, choice: TopicChoice): Promise<FeedView> {
    return this.#env.feeds.openView(context.param('feed'), choice, context.principal, requestOrigin(context))
  }

  #definition(context: Context): Feed {
    return this.#env.feeds.definitionToRead(context.param('feed'), context.principal, requestOrigin(context))
  }

  /** GET /feeds/{feed}/{topic}: events, the state, or with `last` the history. */
  #read(context: Context): Promise<void> {
    return prefersEvents(context) ? this.#follow(context) : this.#show(context)
  }

  async #show(context: Context): Promise<void> {
    const { history } = this.#definition(context)
    const topic = readTopic(context)
    const count = integer(context, 'last', 0, MAX_LAST)
    const choice = topicChoice(topic)
    if (choice === undefined)
      throw refuse('feed.bad_topic', `${JSON.stringify(topic)} is neither a topic nor a pattern`)
    if (count !== undefined && history === undefined)
      throw refuse('feed.no_last', `The feed ${context.param('feed')} has no history`)
    if (count === undefined && choice.kind === 'prefix')
      throw refuse('feed.bad_parameter', 'A pattern has no state: ask for events, or for the last messages with last=')
    const view = await this.#openView(context, choice)
    const messages = await view.readLast(choice, count ?? 1).finally(() => view.close())
    const shown = messages.map((message) =>
      messageText(message, history && view.writePosition(topic, message), view.delayFor(message.topic)),
    )
    setLicence(context, view)
    if (count !== undefined) {
      const { Licence } = licenceMember(view)
      const label = Licence === undefined ? '' : `,"Licence":${JSON.stringify(Licence)}`
      context.send(JSON_BODY, `{"Messages":[${shown.join()}]${label}}`)
    } else if (shown[0] === undefined)
      throw refuse('feed.no_topic', `The topic ${JSON.stringify(topic)} holds no message`)
    else context.send(JSON_BODY, shown[0])
  }

  async #follow(context: Context): Promise<void> {
    if (this.#open.isStopping) throw stopping()
    const { feeds, clock } = this.#env
    context.onClose(this.#countFollower(context.principal.subject))
    const response = new EventResponse(context, EVENTS, { clock, onClosed: () => this.#open.remove(response) })
    const { name, history } = this.#definition(context)
    const request = {
      topic: readTopic(context),
      maxRate: rate(context),
      // The feed may have had a history when the client received it.
      resume: history && lastEventId(context),
      last: integer(context, 'last', 0, MAX_LAST),
    }
    const subscription = await feeds.subscribe(name, request, context.principal, response, {
      ...requestOrigin(context),
      way: 'events',
    })
    try {
      response.begin(subscription, await subscription.startPosition())
    } catch (error) {
      subscription.close()
      throw error
    }
    if (context.method === 'HEAD') context.response.end()
    this.#open.add(response)
  }

  /** Returns the function that releases the place. */
  #countFollower(caller: string): () => void {
    const count = this.#followers.get(caller) ?? 0
    const most = this.#env.maxPerCaller()
    if (count >= most)
      throw refuseForNow('feed.too_many_followers', `You have ${most} event streams of feeds open on this node`, 5)
    this.#followers.set(caller, count + 1)
    return () => {
      const rest = (this.#followers.get(caller) ?? 1) - 1
      if (rest === 0) this.#followers.delete(caller)
      else this.#followers.set(caller, rest)
    }
  }
}

/** The pipeline escapes a path again that is not text: it must not become the name of a topic. */
function readTopic(context: Context): string {
  const { url = '' } = context.request
  if (url.includes('%') && !isText(targetPath(url))) throw refuse('feed.bad_topic', 'The topic is not text in UTF-8')
  return context.param('topic')
}

function requestOrigin({ address, id: requestId }: Context): RequestOrigin {
  return { address, requestId }
}

/** The members that a caller sees of a definition. */
function describe(feed: Feed, principal: Principal) {
  const { name, description, class: feedClass, keep, history, stepUp } = feed
  return {
    Name: name,
    Class: feedClass,
    ...(description === '' ? {} : { Description: description }),
    Keep: keep,
    MayRead: mayRead(feed, principal),
    MayPublish: mayWrite(feed, principal),
    ...stepUpMembers('', stepUp?.read),
    ...stepUpMembers('Write', stepUp?.write),
    ...(history === undefined ? {} : { History: { Messages: history.messages, Seconds: history.time / 1000 } }),
  }
}

/** What the sign-in must be like. */
function stepUpMembers(prefix: '' | 'Write', need: StepUpNeed | undefined): object {
  return {
    ...(need?.acr !== undefined && { [`${prefix}RequireAcr`]: need.acr }),
    ...(need?.age !== undefined && { [`${prefix}RequireAge`]: need.age }),
  }
}

async function newest(feed: OpenFeed, topic: string): Promise<StoredMessage | undefined> {
  return (await feed.store.readLast({ kind: 'topic', topic }, 1))[0]
}

/** The Data as it was published. */
function messageText({ topic, time, data }: StoredMessage, position: string | undefined, delay: number): string {
  const at = position === undefined ? '' : `,"Position":"${position}"`
  const late = delay === 0 ? '' : `,"Delay":${delay / 1000}`
  return `{"Topic":${JSON.stringify(topic)},"Time":"${new Date(time).toISOString()}"${at}${late},"Data":${data ?? 'null'}}`
}

function licenceMember({ definition: { name }, labels }: FeedView): { readonly Licence?: readonly object[] } {
  return labels.length === 0 ? {} : { Licence: writeLabels(name, labels) }
}

/** The field Licence of a reply with something that is delayed or left out: a list (RFC 9651 §3.1). */
function setLicence(context: Context, view: FeedView): void {
  const items = view.labels.map(({ product = '', delay }) => {
    const age = delay === undefined ? '' : `;delay=${delay / 1000};as-of=@${Math.floor(view.horizon(delay) / 1000)}`
    return `"${product}";feed="${view.definition.name}";access=${delay === undefined ? 'none' : 'delayed'}${age}`
  })
  if (items.length > 0) context.setHeaders({ licence: items.join(', ') })
}

/** As for writes of the query service: 1 to 200 visible characters. */
const KEY = /^[\x21-\x7e]{1,200}$/

function readIdempotencyKey(context: Context, read?: MessagesToPublish): PublishOnce | undefined {
  const { headers, path, principal, body } = context
  const key = headers['idempotency-key']
  if (key !== undefined && (typeof key !== 'string' || !KEY.test(key)))
    throw refuse('feed.bad_parameter', 'An Idempotency-Key has 1 to 200 visible ASCII characters')
  const owner = principal.subject
  if (key !== undefined) return { owner, key, fingerprint: digest(Buffer.concat([Buffer.from(`${path}\n`), body])) }
  if (read?.eventKey === undefined) return undefined
  // An event that is sent again may differ in the rest: SDKs write the time at which they created it.
  const published = read.messages.map(({ topic, data }) => [topic, data])
  return { owner, key: `event ${digest(read.eventKey)}`, fingerprint: digest(JSON.stringify(published)) }
}

function digest(content: string | Buffer): string {
  return hash('sha256', content, 'base64url')
}

const EVENTS: EventRules<FeedMessage> = {
  route: '/feeds as events',
  encode: encodeEvent,
  problem: (reason, context) => ({ ...toProblem(logFailure(context, reason) ?? FAULT), RequestId: context.id }),
  expired: () => new Refusal('access.invalid_token', 401, 'The access token has expired'),
  stopping,
  tooSlow: () => refuse('feed.slow_reader', 'The client reads too slowly'),
}

function stopping(): Refusal {
  return refuse('feed.stopping', 'The server is stopping')
}

/** A message, a removal, or that nothing is missing after a reconnection. */
function encodeEvent({ topic, data, position, isRemoved, isRecovered, delay, licence }: FeedMessage): string {
  const members = [
    `"Topic":${JSON.stringify(topic)}`,
    ...(isRecovered === undefined ? [] : [`"Recovered":${isRecovered}`]),
    ...(isRemoved ? ['"Removed":true'] : []),
    ...(delay === undefined ? [] : [`"Delay":${delay}`]),
    ...(licence === undefined ? [] : [`"Licence":${JSON.stringify(licence)}`]),
    ...(data === undefined ? [] : [`"Data":${data.text}`]),
  ]
  return `event: message\n${position === undefined ? '' : `id: ${position}\n`}${dataLines(`{${members.join()}}`)}`
}

function prefersEvents({ headers: { accept } }: Context): boolean {
  if (accept === undefined || !accept.toLowerCase().includes(EVENT_STREAM)) return false
  return byQuality(accept).find(({ value }) => value === EVENT_STREAM || value === JSON_BODY)?.value === EVENT_STREAM
}

function single({ query }: Context, name: string): string | undefined {
  const value = query.get(name)
  if (value === undefined || typeof value === 'string') return value
  throw refuse('feed.bad_parameter', `The query parameter ${name} occurs twice`)
}

function integer(context: Context, name: string, least: number, most: number): number | undefined {
  const text = single(context, name)
  if (text === undefined) return undefined
  const value = /^\d{1,9}$/.test(text) ? Number(text) : Number.NaN
  if (value >= least && value <= most) return value
  throw refuse('feed.bad_parameter', `${name} is an integer from ${least} to ${most}`)
}

function rate(context: Context): number | undefined {
  const text = single(context, 'maxrate')
  if (text === undefined) return undefined
  const value = /^\d{1,3}(\.\d{1,6})?$/.test(text) ? Number(text) : Number.NaN
  if (value >= MIN_RATE && value <= MAX_RATE) return value
  throw refuse('feed.bad_parameter', `maxrate is a number from ${MIN_RATE} to ${MAX_RATE}, in messages per second`)
}

/** A browser that reconnects sends the id of the last event that it received. */
function lastEventId({ headers }: Context): string | undefined {
  const given = headers['last-event-id']
  return typeof given === 'string' && given !== '' ? given : undefined
}
