import assert from 'node:assert/strict'
import { test } from 'node:test'
import { tokenize } from '../../../packages/iql/src/syntax/lexer.ts'
import { DEFAULT_LIMITS } from '../../../packages/iql/src/syntax/limits.ts'
import { catchRefusal } from './refusals.ts'

/** statement → kind:text@offset of each token */
const TOKENS: readonly (readonly [string, string])[] = [
  ['', ''],
  ['  -- nothing but a comment', ''],
  ['/* a */ select /* -- b */ 1', 'word:select@8 number:1@26'],
  ['select -- to the end\n 1', 'word:select@0 number:1@22'],
  ['Price price_2 _x', 'word:Price@0 word:price_2@6 word:_x@14'],
  ['größe', 'word:größe@0'],
  ['"a b" "say ""hi"""', 'quoted:a b@0 quoted:say "hi"@6'],
  ["'it''s' ''", "text:it's@0 text:@8"],
  ["'-- no comment /*'", 'text:-- no comment /*@0'],
  ['1 1.5 .5 1e3 1.5E-3', 'number:1@0 number:1.5@2 number:.5@6 number:1e3@9 number:1.5E-3@13'],
  ['t.1', 'word:t@0 number:.1@1'],
  [':symbol $1 $12', 'parameter:symbol@0 parameter:1@8 parameter:12@11'],
  ["X'0aFF' x''", 'bytes:0aff@0 bytes:@8'],
  [
    '<> != <= >= < > = ||',
    'symbol:<>@0 symbol:!=@3 symbol:<=@6 symbol:>=@9 symbol:<@12 symbol:>@14 symbol:=@16 symbol:||@18',
  ],
  ['(a,b);', 'symbol:(@0 word:a@1 symbol:,@2 word:b@3 symbol:)@4 symbol:;@5'],
  ['1-1', 'number:1@0 symbol:-@1 number:1@2'],
  ["'😀' a", 'text:😀@0 word:a@5'],
]

for (const [statement, expected] of TOKENS) {
  test(`tokens of ${JSON.stringify(statement)}`, () => {
    const tokens = tokenize(statement, DEFAULT_LIMITS)
    assert.equal(tokens.at(-1)?.kind, 'end')
    const shown = tokens.slice(0, -1).map(({ kind, text, at }) => `${kind}:${text}@${at}`)
    assert.equal(shown.join(' '), expected)
  })
}

test('keywords are case-insensitive, and a quoted name is never a keyword', () => {
  const keys = tokenize('SeLeCt "select" != 1', DEFAULT_LIMITS).map(({ key }) => key)
  assert.deepEqual(keys, ['select', '', '<>', '', ''])
})

/** statement, code, line:column, part of the message, hint */
const REFUSED: readonly (readonly [string, string, string, RegExp, RegExp?])[] = [
  ["select 'abc", 'IQL.Syntax', '1:8', /text is never closed/],
  ['select "abc', 'IQL.Syntax', '1:8', /quoted name is never closed/],
  ['select ""', 'IQL.BadName', '1:8', /at least one character/],
  ['select 1 /* open', 'IQL.Syntax', '1:10', /comment is never closed/],
  ["select\n x'0", 'IQL.Syntax', '2:2', /binary literal is never closed/],
  ["select x'0'", 'IQL.BadLiteral', '1:8', /pairs of hexadecimal/],
  ["select x'zz'", 'IQL.BadLiteral', '1:8', /pairs of hexadecimal/],
  ['select 12abc', 'IQL.Syntax', '1:10', /run into a word/],
  ['select 1e', 'IQL.Syntax', '1:9', /run into a word/],
  ['select : a', 'IQL.Syntax', '1:8', /starts a parameter/],
  ['select $0', 'IQL.Syntax', '1:8', /count from \$1/],
  ['select `a`', 'IQL.Syntax', '1:8', /Unexpected "`"/, /double quotes/],
  ['select a == b', 'IQL.Syntax', '1:10', /Unexpected ==/, /one =/],
  ['select a ? b', 'IQL.Syntax', '1:10', /Unexpected "\?"/, /:name/],
  ['select “a”', 'IQL.Syntax', '1:8', /Unexpected/, /straight quotes/],
  ['select 😀', 'IQL.Syntax', '1:8', /Unexpected "😀"/],
  ["select '😀', \0", 'IQL.Syntax', '1:13', /NUL/],
  ["select '\0'", 'IQL.Syntax', '1:9', /NUL/],
  ["select '\ud800'", 'IQL.Syntax', '1:9', /surrogate/],
  ["select '\udc00\ud800'", 'IQL.Syntax', '1:9', /surrogate/],
]

for (const [statement, code, place, message, hint] of REFUSED) {
  test(`refuses ${JSON.stringify(statement)}`, () => {
    const told = catchRefusal(() => tokenize(statement, DEFAULT_LIMITS))
    assert.equal(told.code, code)
    assert.equal(`${told.line}:${told.column}`, place)
    assert.match(told.message, message)
    if (hint) assert.match(told.hint ?? '', hint)
  })
}

test('the length limit counts UTF-8 bytes', () => {
  const limits = { ...DEFAULT_LIMITS, statementBytes: 10 }
  assert.equal(tokenize("'éééé'", limits).length, 2)
  assert.equal(catchRefusal(() => tokenize("'ééééé'", limits)).code, 'IQL.TooLong')
  assert.equal(tokenize("'😀😀'", limits).length, 2)
  assert.equal(catchRefusal(() => tokenize("'😀😀a'", limits)).code, 'IQL.TooLong')
})
