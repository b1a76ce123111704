/** Subjects of NATS: how the topics of a feed are written as tokens, and back. */
import type { TopicChoice } from '../feed.ts'

const ROOT = 'gatehouse.feeds'
export const KEYS_ROOT = 'gatehouse.feed-keys'
/** What readers of feeds with delays see. */
export const COPIES_ROOT = 'gatehouse.feed-copies'

/** What a token cannot hold, and the escape character itself. */
const UNFIT = /[%.*>\s\p{Cc}]/gu
/** Names of streams are names of folders, and nats-server takes a percent sign in them for a format. */
const UNFIT_IN_STREAM = /[^0-9A-Za-z_]/gu
/** A token cannot be empty. No other token is a bare escape character. */
const EMPTY = '%'

/** The subjects of one feed: a prefix, followed by the tokens of the topic. */
export class Subjects {
  /** Without a topic, it carries what concerns the whole feed. */
  readonly prefix: string
  /** Matches those of all topics. */
  readonly all: string
  readonly #base: string
  readonly #isWhole: boolean

  static ofFeed(name: string): Subjects {
    return new Subjects(`${ROOT}.${encodeToken(name)}`)
  }

  /** Of what readers with a delay see of the feed in one of its epochs; 0: without a delay. */
  static ofCopy(name: string, delay: number, epoch: string): Subjects {
    return new Subjects(`${COPIES_ROOT}.${encodeToken(name)}.${epoch}.${delay}`)
  }

  /** Existing subjects such as `md.prices.>`: topics are what follows the fixed tokens, here `md.prices`. */
  static ofPattern(pattern: string): Subjects {
    const tokens = pattern.split('.')
    const wildcard = tokens.findIndex((token) => token === '*' || token === '>')
    const prefix = tokens.slice(0, wildcard < 0 ? -1 : wildcard).join('.')
    return new Subjects(prefix, pattern)
  }

  private constructor(prefix: string, all = `${prefix}.>`) {
    this.prefix = prefix
    this.all = all
    this.#base = prefix === '' ? '' : `${prefix}.`
    this.#isWhole = all === `${this.#base}>`
  }

  /** Whether a message can be published to the topic: not to one that the pattern does not match. */
  accepts(topic: string): boolean {
    return this.#isWhole || covers(this.all, this.ofTopic(topic))
  }

  /** `NYSE/ACME` is `NYSE.ACME`. */
  ofTopic(topic: string): string {
    return this.#base + topic.split('/').map(encodeToken).join('.')
  }

  /** Undefined for a subject that no topic is written as. */
  readTopic(subject: string): string | undefined {
    if (!subject.startsWith(this.#base) || !(this.#isWhole || covers(this.all, subject))) return undefined
    const tokens = subject.slice(this.#base.length)
    if (!tokens.includes('%')) return tokens.includes('/') || tokens === '' ? undefined : tokens.replaceAll('.', '/')
    const topic = tokens.split('.').map(decodeToken).join('/')
    return this.ofTopic(topic) === subject ? topic : undefined
  }

  /** Matches at least the topics of the choice. */
  writeFilter(choice: TopicChoice): string {
    if (choice.kind === 'topic') return this.ofTopic(choice.topic)
    const folder = choice.prefix.slice(0, choice.prefix.lastIndexOf('/') + 1)
    return folder === '' ? this.all : `${this.ofTopic(folder.slice(0, -1))}.>`
  }
}

export function streamName(feed: string): string {
  return `gatehouse_feed_${feed.replace(UNFIT_IN_STREAM, (character) => escapeBytes(character, '-'))}`
}

/** No name of a feed is written with a bare hyphen. */
export function copyName(feed: string, delay: number, epoch: string): string {
  return `${streamName(feed)}-at-${delay}-${epoch}`
}

/** Matches the subjects of all copies of a feed. */
export function copiesOf(feed: string): string {
  return `${COPIES_ROOT}.${encodeToken(feed)}.>`
}

/** Whether every subject that matches the second pattern matches the first. */
export function covers(pattern: string, other: string): boolean {
  const [tokens, others] = [pattern.split('.'), other.split('.')]
  for (const [index, token] of tokens.entries()) {
    const matched = others[index]
    if (token === '>') return matched !== undefined
    if (matched === undefined || matched === '>' || (token !== '*' && token !== matched)) return false
  }
  return tokens.length === others.length
}

export function encodeToken(text: string): string {
  return text === '' ? EMPTY : text.replace(UNFIT, (character) => escapeBytes(character, '%'))
}

function decodeToken(token: string): string {
  if (token === EMPTY) return ''
  try {
    return decodeURIComponent(token)
  } catch {
    return token
  }
}

function escapeBytes(character: string, mark: string): string {
  return [...Buffer.from(character)].map((byte) => mark + byte.toString(16).toUpperCase().padStart(2, '0')).join('')
}
