/** The argument parser: what it accepts, and that each error names the option and says what to do. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { formatUsage, parseArguments, type Syntax } from '../../packages/server/src/cli/args.ts'

const COMMAND: Syntax = {
  name: 'thing add',
  positionals: ['NAME', '[OTHER]'],
  options: {
    '--table': { value: 'TABLE', required: true, help: '' },
    '--parameter': { short: 'p', value: 'NAME=VALUE', repeatable: true, help: '' },
    '--count': { value: 'COUNT', help: '' },
    '--token-file': { value: 'FILE', help: '' },
    '--json': { help: '' },
  },
  settings: true,
}

const parse = (line: string) => parseArguments(COMMAND, line.split(' '))

test('options, settings and positional arguments come in any order, values with or without an equals sign', () => {
  const args = parse('a --json -p x=1 --port 80 --table=t b --parameter=y=2 -pz=a=b --demo --stream-deflate=false')
  assert.deepEqual(args.positionals, ['a', 'b'])
  assert.equal(args.value('--table'), 't')
  assert.deepEqual(Object.fromEntries(args.pairs('--parameter')), { x: '1', y: '2', z: 'a=b' })
  assert.deepEqual(args.settings, { '--port': '80', '--demo': 'true', '--stream-deflate': 'false' })
  assert.deepEqual([args.has('--json'), args.has('--count'), args.value('--count')], [true, false, undefined])
})

test('of a setting given twice the last one counts', () => {
  assert.deepEqual(parse('a --table t --port 1 --port 2').settings, { '--port': '2' })
})

test('after -- everything is a positional argument', () => {
  assert.deepEqual(parse('--table t -- --json -x').positionals, ['--json', '-x'])
})

test('numbers, choices and pairs are checked', () => {
  const args = parse('a --table t --count 12 -p n=v')
  assert.equal(args.integer('--count'), 12)
  assert.throws(() => args.integer('--count', { least: 20 }), {
    message: /--count takes a whole number of at least 20/,
  })
  assert.throws(() => args.integer('--count', { most: 9 }), { message: /--count .*from 0 to 9, not "12"/ })
  assert.throws(() => parse('a --table t --count 1e3').integer('--count'), { message: /not "1e3"/ })
  assert.throws(() => args.choice('--table', ['csv', 'arrow']), { message: /--table takes one of csv, arrow, not "t"/ })
  assert.equal(args.choice('--table', ['t', 'u']), 't')
  assert.throws(() => parse('a --table t -p x').pairs('--parameter'), { message: /takes NAME=VALUE, not "x"/ })
  assert.throws(() => parse('a --table t -p x=1 -p x=2').pairs('--parameter'), { message: /x is given twice/ })
})

test('an option that the command does not declare is a bug', () => {
  assert.throws(() => parse('a --table t').has('--jsn'), { name: 'Error', message: /does not declare --jsn/ })
})

for (const [line, message] of [
  ['a --table', /^--table needs a value$/],
  ['a --table --json', /^--table needs a value; write --table=VALUE if it starts with a dash$/],
  ['a -p', /^-p needs a value$/],
  ['a --port', /^--port needs a value$/],
  ['a --json=yes --table t', /^--json takes no value$/],
  ['a --table t --table u', /^--table is given twice$/],
  ['a --json', /^thing add needs --table TABLE$/],
  ['a --tabel t', /^Unknown option --tabel; did you mean --table\? See "\.\/gatehouse thing add --help"\.$/],
  ['a -x', /^Unknown option -x\. See/],
  ['a --__proto__ x', /^Unknown option --__proto__/],
  ['a --token x', /use --token-file FILE$/],
  ['a b secret --table t', /^thing add takes NAME \[OTHER\]; 3 arguments were given\. Usage: gatehouse thing add NAME/],
  ['--table t', /; 0 arguments were given/],
] as const) {
  test(`"${line}" is a usage error that says what to do and repeats no value`, () => {
    assert.throws(() => parse(line), { name: 'UsageError', message })
    assert.throws(
      () => parse(line),
      (error: Error) => !error.message.includes('secret'),
    )
  })
}

test('the usage line shows required options', () => {
  assert.equal(formatUsage(COMMAND), 'thing add NAME [OTHER] --table TABLE [OPTIONS] [SETTINGS]')
})
