/** Colours the code that pages show to be copied: comments, texts, numbers and keywords of the languages of our samples. */
import type { ComponentChildren } from 'preact'

const KEYWORDS =
  'and as async await break case catch class const continue def default elif else except export extends false False finally for from function if import in interface is let new None not null of or pass print raise return switch throw true True try type undefined var void while with yield'

/** Of statements, in upper case as our forms write them, or in lower case as people do. */
const STATEMENT =
  'select from where group by order having limit offset join left right full inner cross on using union except intersect with insert into values update set delete returning create alter drop add column table view index unique primary key foreign references check constraint default not null is like between in exists case when then else end and or as distinct asc desc cast interval timestamp date read write scope row filter require comment live explain for over partition true false'

/** A text is a statement if it begins as one: `from` and `in` are words of programs too. */
const BEGINS = /^\s*(?:--[^\n]*\n\s*)*(?:select|with|insert|update|delete|create|alter|drop|explain|show)\b/i

const PATTERN = buildPattern(KEYWORDS, '')
const STATEMENT_PATTERN = buildPattern(STATEMENT, 'i')

function buildPattern(keywords: string, flags: string): RegExp {
  return new RegExp(
    [
      // Not the slashes of a URL.
      /(?<comment>(?<![:\w])\/\/[^\n]*|(?<![^\s])#[^\n]*|(?<![^\s])--\s[^\n]*)/,
      /(?<text>'(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*"|`[^`]*`)/,
      // What a reader fills in, and parameters: $TOKEN, :username.
      /(?<variable>(?<!\w)\$\{?[A-Za-z_]\w*\}?|(?<![\w:]):[A-Za-z_][\w.]*)/,
      // Options of commands.
      /(?<option>(?<=\s)--?[A-Za-z][\w-]*)/,
      /(?<number>(?<![\w.:/-])\d[\d_.]*(?![\w.-]))/,
      new RegExp(`(?<keyword>(?<![\\w$.-])(?:${keywords.replaceAll(' ', '|')})(?![\\w$-]))`),
      // A call of a function, or the command at the beginning of a line of a shell.
      /(?<call>(?<![\w$])[A-Za-z_]\w*(?=\()|(?<=^|\n)(?:curl|npm|npx|node|pip|python3|psql|gatehouse|export|echo|read)(?=\s))/,
    ]
      .map(({ source }) => source)
      .join('|'),
    `g${flags}`,
  )
}

export function highlighted(code: string): ComponentChildren {
  const parts: ComponentChildren[] = []
  let end = 0
  for (const match of code.matchAll(BEGINS.test(code) ? STATEMENT_PATTERN : PATTERN)) {
    const [kind = ''] = Object.entries(match.groups ?? {}).find(([, value]) => value !== undefined) ?? []
    parts.push(code.slice(end, match.index), <span class={`code-${kind}`}>{match[0]}</span>)
    end = match.index + match[0].length
  }
  return [...parts, code.slice(end)]
}
