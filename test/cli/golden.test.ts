/** The JSON output of every administration command, compared with a golden file. */
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { COMMANDS } from '../../packages/server/src/cli/commands.ts'
import { matchesGolden, steady } from '../support/golden.ts'
import { runInProcess } from '../support/in-process.ts'

const base = mkdtempSync(join(tmpdir(), 'gatehouse-golden-'))
after(() => rmSync(base, { recursive: true, force: true }))
const data = ['--data', join(base, 'data')]
before(() => runInProcess(['migrate', '--create', ...data]))

/** Run in order on one data folder; a word in capitals is an id from the output of an earlier step. */
const STEPS: readonly { args: string; stdin?: string; status?: number; keep?: Readonly<Record<string, RegExp>> }[] = [
  { args: 'role add admin --scope Identity/Admin --scope Platform/Admin --description Everything' },
  { args: 'role add trader --scope Platform/Trading' },
  { args: 'role set trader --scope Platform/Trading --scope Platform/Market --second-factor false' },
  { args: 'role list' },
  { args: 'role add trader', status: 1 },
  { args: 'user password nobody', stdin: 'a long enough one\n', status: 1 },
  { args: 'user list' },
  { args: 'user set alice --name Alice --email alice@example.com --role admin' },
  { args: 'user show alice', keep: { USER: /"id": "(usr_[\w-]{22})"/ } },
  { args: 'user rights alice' },
  { args: 'user disable alice --yes' },
  { args: 'user enable USER' },
  { args: 'user password alice', stdin: 'another long one\n' },
  { args: 'user password alice --generate' },
  { args: 'user factors alice' },
  { args: 'user factors alice --remove none', status: 1 },
  { args: 'user set alice --must-change-password true' },
  { args: 'user first-admin', status: 1 },
  { args: 'user invite bob --role trader --expires 12h', keep: { LINK: /"id": "([\w-]{22})"/ } },
  { args: 'user links --revoke LINK' },
  { args: 'user reset-link alice' },
  { args: 'user links alice' },
  { args: 'user professional alice true' },
  { args: 'user sessions alice' },
  { args: 'user grants alice' },
  { args: 'user consents alice' },
  { args: 'user sign-out alice --yes' },
  { args: 'client add desk --redirect https://desk.example/cb --scope openid --scope Platform/News --name Desk' },
  { args: 'client add robot --grant client_credentials --scope Platform/Market --set access_token_lifetime=600' },
  { args: 'client add kiosk --public --redirect https://kiosk.example/cb --set skip_consent=true' },
  { args: 'client set desk --set skip_consent=true --redirect https://desk.example/new' },
  { args: 'client set desk --grant authorization_code --grant refresh_token --scope openid' },
  { args: 'client set desk --grant authorization_code --scope openid' },
  { args: 'client secret desk --others-expire-in 60', keep: { SECRETID: /"id": "([\w-]{22})"/ } },
  { args: 'client secret desk', status: 1 },
  { args: 'client secret desk --remove SECRETID' },
  { args: 'client show desk' },
  { args: 'client disable desk --yes' },
  { args: 'client enable desk' },
  { args: 'client remove robot --yes' },
  { args: 'client remove robot --yes', status: 1 },
  { args: 'client list' },
  { args: 'scope list' },
  { args: 'attribute add desk --many --claim desk --scope profile' },
  { args: 'attribute add level --type Integer --scope profile', status: 1 },
  { args: 'attribute add level --type Integer' },
  { args: 'attribute set desk --scim-path department --without scope' },
  { args: 'attribute show desk' },
  { args: 'attribute list' },
  { args: 'user set alice --attribute desk=Rates --attribute desk=FX --attribute level=3' },
  { args: 'user set alice --attribute level=' },
  { args: 'user set alice --attribute level=high', status: 1 },
  { args: 'client set desk --attribute desk=FX' },
  { args: 'attribute remove desk --yes', status: 1 },
  { args: 'attribute remove level --yes' },
  {
    args: 'controller add Orders --url https://oms.internal/gatehouse --topic Place=Platform/Trading --concurrency 8',
  },
  { args: 'controller add Query --url https://oms.internal/ --topic Place=identity', status: 1 },
  { args: 'controller add Orders --url https://oms.internal/', status: 2 },
  { args: 'controller show Orders' },
  { args: 'controller list' },
  { args: 'config export --without-users' },
  { args: 'controller remove Orders --yes' },
  { args: 'controller remove Orders --yes', status: 1 },
  { args: 'feed add Prices --class Market --read Platform/Market --history-messages 50 --topics 10' },
  { args: 'feed set Prices --keep all --default read' },
  { args: 'feed show Prices' },
  { args: 'feed add News' },
  { args: 'feed remove News --yes' },
  { args: 'feed purge Prices --yes', status: 1 },
  { args: 'columns status', status: 1 },
  { args: 'columns verify trades', status: 1 },
  { args: 'columns rebuild trades', status: 1 },
  { args: 'feed list' },
  { args: 'scim token robot', status: 1 },
  { args: 'role add fx --provisioned true' },
  { args: 'client add hr-sync --grant client_credentials --scope Identity/Provisioning', status: 1 },
  { args: 'client add hr-sync --grant client_credentials --scope Identity/Provisioning --scim' },
  { args: 'scim token hr-sync', status: 1 },
  { args: 'scim token hr-sync --days 90 --scim', keep: { PROVISIONING: /"id": "([\w-]+)"/ } },
  { args: 'scim show hr-sync' },
  { args: 'scim list' },
  { args: 'scim revoke hr-sync PROVISIONING --yes' },
  { args: 'scim revoke hr-sync PROVISIONING --yes', status: 1 },
  { args: 'client remove hr-sync --yes' },
  { args: 'role remove fx --yes' },
  { args: 'keys rotate --active-in 0', keep: { KID: /"kid": "([\w-]{43})"/ } },
  { args: 'keys retire KID --yes', status: 1 },
  { args: 'keys retire KID --compromised --yes' },
  { args: 'keys rotate' },
  { args: 'keys list' },
  { args: 'session list', status: 1 },
  { args: 'session kick --user USER --yes', status: 1 },
  { args: 'queries list', status: 1 },
  { args: 'queries cancel none --yes', status: 1 },
  { args: 'audit list --event role --limit 2' },
  { args: 'audit list --changes --limit 1' },
  { args: 'audit list --event nonsense', status: 1 },
  { args: 'audit verify' },
  { args: 'settings list' },
  { args: 'nodes list' },
  { args: 'backups list' },
  { args: 'backups status' },
  { args: 'backups take', status: 1 },
  { args: 'backups verify', status: 1 },
  { args: 'config export' },
  { args: 'role remove trader --yes' },
  { args: 'user remove alice --yes' },
  { args: 'user remove alice --yes', status: 1 },
]

/** Their output changes with every new setting or event. */
const UNSTEADY = new Set([
  'settings list',
  'audit list --event nonsense',
  'scim token hr-sync --days 90 --scim',
  'scim revoke hr-sync PROVISIONING --yes',
])

test('every administration command prints JSON with --json', async () => {
  await runInProcess(['user', 'add', 'alice', ...data], { stdin: 'long enough 1\n' })
  const kept = new Map<string, string>()
  const written: string[] = []
  for (const { args, stdin, status = 0, keep = {} } of STEPS) {
    const words = args.split(' ').map((word) => kept.get(word) ?? word)
    const run = await runInProcess([...words, '--json', ...data], stdin === undefined ? {} : { stdin })
    assert.equal(run.status, status, `${args}: ${run.stderr}`)
    if (status === 0) JSON.parse(run.stdout)
    for (const [name, pattern] of Object.entries(keep)) kept.set(name, pattern.exec(run.stdout)?.[1] ?? '')
    if (!UNSTEADY.has(args)) written.push(`$ gatehouse ${args} --json\n${steady(run.stdout + run.stderr)}`)
  }
  await matchesGolden('administration.txt', written.join('\n'))
  const named = new Set(STEPS.map(({ args }) => args.split(' ').slice(0, 2).join(' ')))
  const groups = /^(user|role|client|scope|scim|feed|controller|keys|session|queries|audit|settings|nodes|backups) /
  const untried = COMMANDS.map(({ name }) => name).filter((name) => groups.test(name) && !named.has(name))
  assert.deepEqual(untried.sort(), ['audit export', 'audit follow', 'backups key', 'user add'])
})

test('without --json the output is a table', async () => {
  const run = await runInProcess(['role', 'list', ...data])
  assert.match(
    run.stdout,
    /^NAME +SCOPES +REQUIRE SECOND FACTOR +PROVISIONED +DESCRIPTION\nadmin +Identity\/Admin Platform\/Admin +false +- +Everything\n$/,
  )
})

test('the export is complete NDJSON', async () => {
  const { stdout, status } = await runInProcess(['audit', 'export', ...data])
  assert.equal(status, 0)
  const rows = stdout
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line))
  assert.deepEqual(
    rows.map(({ seq }) => seq),
    rows.map((_row, index) => index + 1),
  )
})

test('without a terminal a destructive command is refused unless --yes is given', async () => {
  for (const command of ['user remove alice', 'client disable kiosk', 'role remove admin', 'keys retire x']) {
    const { status, stderr } = await runInProcess([...command.split(' '), ...data])
    assert.equal(status, 2)
    assert.match(stderr, /Confirm with --yes/)
  }
  assert.match((await runInProcess(['client', 'show', 'kiosk', ...data])).stdout, /disabled +false/)
})

test('a wrong command line is one line on stderr and status 2', async () => {
  for (const command of [
    'user show',
    'user show a b',
    'user list --limti 5',
    'client set x --set nonsense',
    'session kick --yes',
  ]) {
    const { status, stderr } = await runInProcess([...command.split(' '), ...data])
    assert.equal(status, 2, command)
    assert.match(stderr, /^gatehouse: [^\n]+\n$/, command)
  }
})

test('completion scripts contain every command', async () => {
  const names = COMMANDS.map(({ name }) => name)
  for (const shell of ['bash', 'zsh', 'fish']) {
    const { stdout } = await runInProcess(['completion', shell])
    for (const word of new Set(names.flatMap((name) => name.split(' '))))
      assert.match(stdout, new RegExp(`\\b${word}\\b`), `${shell}: ${word}`)
  }
  assert.equal((await runInProcess(['completion', 'csh'])).status, 2)
})
