/** Feeds, as the administration defines them and as those who use them see them. */
import { FEED_CLASSES } from 'gatehouse-protocol'
import { may } from '../../../gate.ts'
import { count } from '../../../ui/index.ts'
import { word } from '../../../ui/word.ts'
import { periodText } from '../period.ts'

/** As `/admin/feeds` has it. */
export interface FeedDefinition {
  readonly name: string
  readonly description?: string
  readonly class: string
  readonly read: string
  readonly write: string
  readonly require_acr?: number
  readonly require_age?: number
  readonly write_require_acr?: number
  readonly write_require_age?: number
  readonly keep: 'latest' | 'all'
  readonly history?: { readonly messages: number; readonly time: string }
  readonly state_time?: string
  readonly message_bytes: number
  readonly topics: number
  readonly bytes: number
  readonly rate: number
  readonly nats_subject?: string
  /** Null where the server does not know it. */
  readonly usage?: { readonly topics: number; readonly bytes: number } | null
}

/** As `/feeds` has it. */
export interface UsableFeed {
  readonly Name: string
  readonly Class: string
  readonly Description?: string
  readonly Keep: 'latest' | 'all'
  readonly MayRead: boolean
  readonly MayPublish: boolean
  readonly History?: { readonly Messages: number; readonly Seconds: number }
}

/** What the pages of a feed need to know of it. */
export interface FeedInfo {
  readonly name: string
  readonly description: string | undefined
  readonly class: string
  readonly keep: 'latest' | 'all'
  /** `time` is in the words of a definition: `1 hour`. */
  readonly history: { readonly messages: number; readonly time: string } | undefined
  readonly mayRead: boolean
  readonly mayPublish: boolean
  /** Undefined for users who do not administer feeds. */
  readonly read?: string
  readonly write?: string
  /** How many there were when the page was loaded; undefined if that is not known. */
  readonly topics?: number | undefined
}

export const CLASSES: readonly string[] = FEED_CLASSES

export function infoOfDefinition({ name, description, keep, history, read, write, ...rest }: FeedDefinition): FeedInfo {
  const mayRead = read === 'identity' ? may('Platform/') : may(read)
  const rights = { mayRead, mayPublish: may(write), read, write }
  return { name, description, class: rest.class, keep, history, ...rights, topics: rest.usage?.topics }
}

export function infoOfUsable(feed: UsableFeed): FeedInfo {
  const { Name, Description, Class, Keep, History, MayRead, MayPublish } = feed
  return {
    ...{ name: Name, description: Description, class: Class, keep: Keep, mayRead: MayRead, mayPublish: MayPublish },
    history: History && { messages: History.Messages, time: `${History.Seconds} seconds` },
  }
}

interface Keeping {
  readonly keep: 'latest' | 'all'
  readonly history?: FeedInfo['history']
}

/** Whether messages can be read after they were published. */
export function isStored({ keep, history }: Keeping): boolean {
  return keep === 'latest' || history !== undefined
}

/** In a few words: what a reader gets who comes later. */
export function keepText({ keep, history }: Keeping): string {
  const kept = history && word(`${count(history.messages)} messages for ${periodText(history.time)}`)
  if (keep === 'latest') return word(kept === undefined ? 'Latest' : `Latest + ${kept}`)
  return word(kept === undefined ? 'Nothing' : `All: ${kept}`)
}

export function readerText(read: string): string {
  return read === 'identity' ? 'Anyone signed in' : read
}

/** The path of a topic's messages. */
export function topicPath(feed: string, topic: string): string {
  return `/feeds/${encodeURIComponent(feed)}/${encodeURIComponent(topic)}`
}

export function definitionPath(feed: string): string {
  return `/admin/feeds/${encodeURIComponent(feed)}`
}
