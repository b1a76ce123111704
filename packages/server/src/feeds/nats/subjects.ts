/** Subjects of NATS: how the topics of a feed are written as tokens, and back. */
import type { TopicChoice } from '../feed.ts'

const ROOT = 'gatehouse.feeds'
export const KEYS_ROOT = 'gatehouse.feed-keys'

/** What a token cannot hold, and the escape character itself. */
const UNFIT = /[%.*>\s\p{Cc}]/gu
/** Names of streams may be names of folders. */
const UNFIT_IN_STREAM = /[^0-9A-Za-z_-]/gu
/** A token cannot be empty. No other token is a bare escape character. */
const EMPTY = '%'

/** The subjects of one feed: a prefix, followed by the tokens of the topic. */
export class Subjects {
  /** Without a topic, it carries what concerns the whole feed. */
  readonly prefix: string

  constructor(prefix: string) {
    this.prefix = prefix
  }

  static ofFeed(name: string): Subjects {
    return new Subjects(`${ROOT}.${encodeToken(name)}`)
  }

  get all(): string {
    return `${this.prefix}.>`
  }

  /** `NYSE/ACME` is `NYSE.ACME`. */
  ofTopic(topic: string): string {
    return `${this.prefix}.${topic.split('/').map(encodeToken).join('.')}`
  }

  /** Undefined for a subject that no topic is written as. */
  topicOf(subject: string): string | undefined {
    if (!subject.startsWith(`${this.prefix}.`)) return undefined
    const tokens = subject.slice(this.prefix.length + 1)
    if (!tokens.includes('%')) return tokens.includes('/') ? undefined : tokens.replaceAll('.', '/')
    const topic = tokens.split('.').map(decodeToken).join('/')
    return this.ofTopic(topic) === subject ? topic : undefined
  }

  /** Matches at least the topics of the choice. */
  filterOf(choice: TopicChoice): string {
    if (choice.kind === 'topic') return this.ofTopic(choice.topic)
    const folder = choice.prefix.slice(0, choice.prefix.lastIndexOf('/') + 1)
    return folder === '' ? this.all : `${this.ofTopic(folder.slice(0, -1))}.>`
  }
}

export function streamName(feed: string): string {
  return `GATEHOUSE_FEED_${feed.replace(UNFIT_IN_STREAM, escape)}`
}

/** The fixed tokens of a subject such as `md.prices.>`; undefined where the subject cannot be offered as a feed. */
export function subjectPrefix(subject: string): string | undefined {
  return /^((?:[^\s\p{Cc}.*>$][^\s\p{Cc}.*>]*)(?:\.[^\s\p{Cc}.*>]+)*)\.>$/u.exec(subject)?.[1]
}

export function encodeToken(text: string): string {
  return text === '' ? EMPTY : text.replace(UNFIT, escape)
}

function decodeToken(token: string): string {
  if (token === EMPTY) return ''
  try {
    return decodeURIComponent(token)
  } catch {
    return token
  }
}

function escape(character: string): string {
  return [...Buffer.from(character)].map((byte) => `%${byte.toString(16).toUpperCase().padStart(2, '0')}`).join('')
}
