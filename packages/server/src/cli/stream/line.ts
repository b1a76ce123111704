/** Parses a line that the user types, and completes it. */
import { parseExactly } from '../../lib/exact-json.ts'
import { UsageError } from '../errors.ts'
import { parseJson } from '../output/json.ts'

export type Line =
  | { readonly kind: 'nothing' }
  | { readonly kind: 'message'; readonly text: string }
  | { readonly kind: 'signin'; readonly username: string }
  | { readonly kind: 'help' | 'topics' | 'quit' }

/** The topics of every server; a session adds those that it sees. */
export const KNOWN_TOPICS = [
  'Auth/AuthToken',
  'Auth/Configure',
  'Auth/Identify',
  'Auth/QueryConfigure',
  'Auth/QueryIdentify',
  'Auth/QueryNonce',
  'Platform/Configure',
  'Platform/Feeds',
  'Platform/QueryConfigure',
  'Platform/QueryServerInfo',
  'Platform/ServerInfo',
]

const WORDS = ['sub', 'unsub', 'cancel', 'signin', 'topics', 'help', 'quit']

export const LINE_HELP = `  Controller/Topic [JSON]      sends a request, with the JSON as its Data
  sub Controller/Topic [JSON]  subscribes; unsub ends it. Feeds take a pattern, such as Prices/NYSE/*, and options,
                               such as {"Last": 10} or {"MaxRate": 1}
  cancel ID                    cancels the request with this TransactionID
  signin NAME                  signs a user in
  { … }                        sends the JSON unchanged
  topics, help, quit           Tab completes, the arrow keys recall earlier lines`

/** `nextId` returns the TransactionID of a new request. */
export function parseLine(line: string, nextId: () => number): Line {
  const text = line.trim()
  if (text === '' || text.startsWith('#')) return { kind: 'nothing' }
  if (text.startsWith('{')) return { kind: 'message', text }
  const [word = '', rest = ''] = splitOnce(text)
  switch (word) {
    case 'quit':
    case 'help':
    case 'topics':
      return { kind: word }
    case 'signin':
      if (rest === '') throw new UsageError('signin needs a username')
      return { kind: 'signin', username: rest }
    case 'sub': {
      // A topic of a feed may contain spaces.
      const [, name = rest, data] = /^(.*?)\s+(\{.*\})$/.exec(rest) ?? []
      const Data = data === undefined ? undefined : parseData(data)
      return message({ ...parseTopic(name), Action: 'Sub', TransactionID: nextId(), Confirm: true, Data })
    }
    case 'unsub':
      return message({ ...parseTopic(rest), Action: 'Unsub', TransactionID: nextId(), Confirm: true })
    case 'cancel':
      if (!/^-?\d+$/.test(rest)) throw new UsageError('cancel needs the TransactionID of a request')
      return { kind: 'message', text: `{"Action":"Cancel","TransactionID":${rest}}` }
    default:
      return message({
        ...parseTopic(word),
        TransactionID: nextId(),
        ...(rest === '' ? {} : { Data: parseData(rest) }),
      })
  }
}

function message(members: object): Line {
  return { kind: 'message', text: JSON.stringify(members) }
}

function parseTopic(text: string): { Controller: string; Topic: string } {
  const slash = text.indexOf('/')
  if (slash <= 0 || slash === text.length - 1)
    throw new UsageError(
      `"${text}" is not a topic such as Platform/QueryServerInfo; type "help" for a list of commands`,
    )
  return { Controller: text.slice(0, slash), Topic: text.slice(slash + 1) }
}

function parseData(text: string): unknown {
  if (parseJson(text) === undefined) throw new UsageError(`The text after the topic must be JSON: ${text}`)
  return parseExactly(text)
}

function splitOnce(text: string): [string, string] {
  const space = text.search(/\s/)
  return space < 0 ? [text, ''] : [text.slice(0, space), text.slice(space).trim()]
}

/** As readline expects: the candidates, and the part of the line that they complete. */
export function completeLine(line: string, topics: Iterable<string>): [string[], string] {
  const { before = '', last = '' } = /^(?<before>\s*(?:(?:un)?sub\s+)?)(?<last>\S*)$/.exec(line)?.groups ?? {
    last: line,
  }
  const candidates = before.trim() === '' ? [...WORDS.map((word) => `${word} `), ...topics] : [...topics]
  return [candidates.filter((candidate) => candidate.startsWith(last)).sort(), last]
}
