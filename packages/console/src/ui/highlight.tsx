/** Colours the code that pages show to be copied: comments, texts, numbers and keywords of the languages of our samples. */
import type { ComponentChildren } from 'preact'

const KEYWORDS =
  'and as async await break case catch class const continue def default elif else except export extends false False finally for from function if import in interface is let new None not null of or pass print raise return switch throw true True try type undefined var void while with yield'

const PATTERN = new RegExp(
  [
    // Not the slashes of a URL.
    /(?<comment>(?<![:\w])\/\/[^\n]*|(?<![^\s])#[^\n]*|(?<![^\s])--\s[^\n]*)/,
    /(?<text>'(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*"|`[^`]*`)/,
    /(?<number>(?<![\w.-])\d[\d_.]*(?![\w.-]))/,
    new RegExp(`(?<keyword>(?<![\\w$.-])(?:${KEYWORDS.replaceAll(' ', '|')})(?![\\w$-]))`),
  ]
    .map(({ source }) => source)
    .join('|'),
  'g',
)

export function highlighted(code: string): ComponentChildren {
  const parts: ComponentChildren[] = []
  let end = 0
  for (const match of code.matchAll(PATTERN)) {
    const [kind = ''] = Object.entries(match.groups ?? {}).find(([, value]) => value !== undefined) ?? []
    parts.push(code.slice(end, match.index), <span class={`code-${kind}`}>{match[0]}</span>)
    end = match.index + match[0].length
  }
  return [...parts, code.slice(end)]
}
