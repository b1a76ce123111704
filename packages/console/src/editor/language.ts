/** IQL for CodeMirror: colours by the words of the grammar and the functions, comments, brackets. */
import { LanguageSupport, StreamLanguage, type StringStream } from '@codemirror/language'
import { FORMS, functionNames, KEYWORDS, RESERVED } from 'gatehouse-iql'

interface State {
  /** The construct that the previous line has not closed. */
  open: 'comment' | 'text' | 'quoted' | undefined
  /** The word before, in lower case: `key` is a keyword after `primary`. */
  before: string
}

const FUNCTIONS: ReadonlySet<string> = new Set(functionNames())
export const TYPES: readonly string[] = Object.keys(FORMS).filter((name) => name !== 'Interval')
const TYPE_WORDS: ReadonlySet<string> = new Set(TYPES.map((name) => name.toLowerCase()))
/** Words that are names more often than not: keywords only next to the words in `PHRASES`. */
const NAMES = new Set(
  'at columns comment current first following key last row rows scope read write tables window zone'.split(' '),
)
const WORDS: ReadonlySet<string> = new Set(
  KEYWORDS.map((word) => word.toLowerCase()).filter((word) => !NAMES.has(word) && !TYPE_WORDS.has(word)),
)
const PHRASES: ReadonlySet<string> = new Set(
  `primary key,read scope,write scope,row filter,drop row,set row,current row,rows between,rows unbounded,rows only,row only,
at time,time zone,show tables,show columns,comment on,nulls first,nulls last,fetch first,fetch next,first row,first rows,next row,next rows,
unbounded following,read require,write require,set read,set write,set comment,drop read,drop write,columns from`
    .split(',')
    .map((phrase) => phrase.trim()),
)
const LITERALS = new Set(['true', 'false', 'null'])

const language = StreamLanguage.define<State>({
  name: 'iql',
  startState: () => ({ open: undefined, before: '' }),
  token(stream, state) {
    if (state.open !== undefined) return readRest(stream, state, state.open)
    if (stream.eatSpace()) return null
    if (stream.match('--')) {
      stream.skipToEnd()
      return 'comment'
    }
    if (stream.match('/*')) return readRest(stream, state, 'comment')
    if (stream.match(/^[xX]?'/)) return readRest(stream, state, 'text')
    if (stream.match('"')) return readRest(stream, state, 'quoted')
    if (stream.match(/^(\d+(\.\d+)?|\.\d+)([eE][+-]?\d+)?/)) return 'number'
    if (stream.match(/^(:[\p{L}_][\p{L}\p{N}\p{M}_]*|\$\d+)/u)) return 'variableName.special'
    const word = stream.match(/^[\p{L}_][\p{L}\p{N}\p{M}_]*/u)
    if (Array.isArray(word)) {
      const key = String(word[0]).toLowerCase()
      const style = isInPhrase(stream, state.before, key)
        ? 'keyword'
        : wordStyle(key, stream.match(/^\s*\(/, false) !== null)
      state.before = key
      return style
    }
    state.before = ''
    const symbol = stream.next() ?? ''
    return '()'.includes(symbol) ? 'paren' : ',;.'.includes(symbol) ? 'punctuation' : 'operator'
  },
  languageData: {
    commentTokens: { line: '--', block: { open: '/*', close: '*/' } },
    closeBrackets: { brackets: ['(', "'", '"'] },
  },
})

export const iql = new LanguageSupport(language)

const ENDS = { comment: '*/', text: "'", quoted: '"' } as const
const STYLES = { comment: 'comment', text: 'string', quoted: 'variableName' } as const

/** A doubled quote closes and opens again, which comes to the same. */
function readRest(stream: StringStream, state: State, open: keyof typeof ENDS): string {
  const end = ENDS[open]
  const at = stream.string.indexOf(end, stream.pos)
  state.open = at === -1 ? open : undefined
  stream.pos = at === -1 ? stream.string.length : at + end.length
  return STYLES[open]
}

function isInPhrase(stream: StringStream, before: string, word: string): boolean {
  if (!NAMES.has(word)) return false
  if (word === 'comment' && stream.match(/^\s*'/, false) !== null) return true
  const next = /^\s+([\p{L}_]+)/u.exec(stream.string.slice(stream.pos))?.[1]?.toLowerCase()
  return PHRASES.has(`${before} ${word}`) || (next !== undefined && PHRASES.has(`${word} ${next}`))
}

function wordStyle(word: string, isCall: boolean): string {
  if (LITERALS.has(word)) return 'atom'
  if (isCall && FUNCTIONS.has(word)) return 'variableName.function'
  if (RESERVED.has(word) || WORDS.has(word)) return 'keyword'
  return TYPE_WORDS.has(word) ? 'typeName' : 'variableName'
}
