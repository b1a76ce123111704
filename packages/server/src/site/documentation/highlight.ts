/** Colours code on the pages of the documentation: comments, texts, numbers and keywords, marked by classes. */
import { escapeHtml } from '../../lib/escape-html.ts'

interface Grammar {
  /** Alternatives of a regular expression. */
  readonly comment: string
  readonly keywords: readonly string[]
  readonly ignoreCase?: boolean
}

const C_COMMENT = '//[^\\n]*|/\\*[\\s\\S]*?\\*/'
const HASH_COMMENT = '(?<![^\\s])#[^\\n]*'

const SCRIPT: Grammar = {
  comment: C_COMMENT,
  keywords:
    'abstract as async await break case catch class const continue declare default delete else enum export extends false finally for from function if implements import in instanceof interface let new null of private public readonly return static super switch this throw true try type typeof undefined var void while yield'.split(
      ' ',
    ),
}
const SQL: Grammar = {
  comment: '--[^\\n]*|/\\*[\\s\\S]*?\\*/',
  keywords:
    'all alter and as asc between by case check column create cross default delete desc distinct drop else end exists explain false filter from full group having if in index inner insert into is join key left like limit live not null offset on or order outer over partition primary references right select set table then true union unique update using values view when where with'.split(
      ' ',
    ),
  ignoreCase: true,
}
const SHELL: Grammar = {
  comment: HASH_COMMENT,
  keywords: 'case do done elif else esac export fi for function if in sudo then while'.split(' '),
}
const DATA: Grammar = { comment: HASH_COMMENT, keywords: ['true', 'false', 'null'] }
const PYTHON: Grammar = {
  comment: HASH_COMMENT,
  keywords:
    'and as async await class def elif else end except False finally for from if import in is lambda None nil not or pass raise require return self True try unless while with yield'.split(
      ' ',
    ),
}

const GRAMMARS: ReadonlyMap<string, Grammar> = new Map([
  ['js', SCRIPT],
  ['ts', SCRIPT],
  ['go', { ...SCRIPT, keywords: [...SCRIPT.keywords, 'chan', 'defer', 'func', 'go', 'package', 'range', 'struct'] }],
  ['sql', SQL],
  ['sh', SHELL],
  ['apache', SHELL],
  ['json', DATA],
  ['yaml', DATA],
  ['python', PYTHON],
  ['ruby', PYTHON],
])

/** As HTML; text in languages that are not known is only escaped. */
export function highlight(code: string, language: string): string {
  const grammar = GRAMMARS.get(language)
  if (grammar === undefined) return escapeHtml(code)
  const words = grammar.keywords.join('|')
  const pattern = new RegExp(
    `(?<comment>${grammar.comment})|(?<text>'(?:[^'\\\\\\n]|\\\\.)*'|"(?:[^"\\\\\\n]|\\\\.)*"|\`[^\`]*\`)|(?<number>\\b\\d[\\d_.]*\\b)|(?<keyword>\\b(?:${words})\\b)`,
    grammar.ignoreCase === true ? 'gi' : 'g',
  )
  let html = ''
  let end = 0
  for (const match of code.matchAll(pattern)) {
    const kind = Object.entries(match.groups ?? {}).find(([, value]) => value !== undefined)?.[0] ?? ''
    html += `${escapeHtml(code.slice(end, match.index))}<span class="code-${kind}">${escapeHtml(match[0])}</span>`
    end = match.index + match[0].length
  }
  return html + escapeHtml(code.slice(end))
}
