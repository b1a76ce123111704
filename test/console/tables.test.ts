/** The area Tables of the console, in a real Chromium on a demonstration server. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { tableFromArrays, tableToIPC } from 'apache-arrow'
import { Gatehouse, password, statement } from '../../packages/client/src/index.ts'
import { ADMIN, ALICE, type ConsolePage, type ConsoleScene, openConsole } from '../support/console.ts'
import { signIn } from '../support/demo-user.ts'
import { IN_LONG_RUNS } from '../support/engines.ts'

let scene: ConsoleScene
let view: ConsolePage

before(async () => {
  scene = await openConsole({ engine: 'postgres' })
  const admin = new Gatehouse(scene.server.issuer, { auth: password({ clientId: 'demo-cli', ...ADMIN }) })
  await admin.admin.attributes.create({ name: 'desk', type: 'Text' })
  await admin.admin.apis.create({ resource: 'platform', name: 'Desk', scopes: [{ name: 'desk:nobody' }] })
  admin.close()
  view = await scene.open('/tables')
})
after(() => scene.stop())

const cell = (row: number, column: number) =>
  view.page.locator(`[aria-rowindex="${row + 2}"] [aria-colindex="${column + 2}"]`)
const text = async (row: number, column: number) => cell(row, column).textContent()

test('the tree finds tables by their beginning and reads columns when a table is opened', async () => {
  const { page } = view
  await page.getByRole('link', { name: 'trades' }).waitFor()
  await page.getByLabel('Find a table').fill('tra')
  await page.getByRole('link', { name: 'instruments' }).waitFor({ state: 'detached' })
  await page.getByRole('button', { name: 'Show the columns of trades' }).click()
  await page.getByText('executed_at').waitFor()
  await page.getByLabel('Find a table').fill('zzz')
  await page.getByText('No table begins with “zzz”.').waitFor()
  await page.getByLabel('Find a table').fill('')
  assert.deepEqual(await view.axe(), [])
  view.check()
})

test('a table is created by a form that shows its statement', async () => {
  const { page } = view
  await page.getByRole('link', { name: 'New' }).click()
  await page.getByLabel('Name', { exact: true }).fill('notes')
  await page.getByLabel('Name of column 2').fill('body')
  await page.getByRole('button', { name: 'Add a column' }).click()
  await page.getByLabel('Name of column 3').fill('amount')
  await page.getByLabel('Type of column 3').fill('Decimal(18, 4)')
  const code = await page.locator('.code pre').textContent()
  assert.equal(
    code,
    'CREATE TABLE notes (\n  id Integer,\n  body Text,\n  amount Decimal(18, 4),\n  PRIMARY KEY (id)\n)',
  )
  assert.deepEqual(await view.axe(), [])
  await page.getByRole('button', { name: 'Create the table' }).click()
  await page.getByText('There are no rows').waitFor()
  assert.match(page.url(), /\/console\/tables\/notes$/)
  view.check()
})

test('rows are added, changed in place and deleted, with exact values', async () => {
  const { page } = view
  for (const [id, amount] of [
    ['9223372036854775807', '12345678901234.5678'],
    ['2', '0.1000'],
  ] as const) {
    await page.getByRole('button', { name: 'Add a row' }).click()
    await page.getByLabel('id', { exact: true }).fill(id)
    await page.getByLabel('amount', { exact: true }).fill(amount)
    await page.getByRole('button', { name: 'Add', exact: true }).click()
    await page.getByRole('gridcell', { name: id, exact: true }).waitFor()
  }
  assert.deepEqual(
    [await text(1, 0), await text(1, 1), await text(1, 2)],
    ['9223372036854775807', 'NULL', '12,345,678,901,234.5678'],
  )
  await cell(1, 2).dblclick()
  const editor = page.getByLabel('amount, Decimal(18, 4)')
  await editor.fill('lots')
  await editor.press('Enter')
  await page.getByRole('alert').waitFor()
  await editor.fill('99999999999999.0001')
  await editor.press('Enter')
  await page.getByRole('gridcell', { name: '99999999999999.0001' }).waitFor()
  // The key cannot be changed in place: its details open.
  await cell(1, 0).dblclick()
  await page.getByRole('region', { name: 'Value of id' }).waitFor()
  await page.getByRole('button', { name: 'Delete', exact: true }).click()
  await page.getByText('id 9223372036854775807. This cannot be undone.').waitFor()
  await page.getByRole('dialog').getByRole('button', { name: 'Delete', exact: true }).click()
  await page.getByText('1 row in all').waitFor()
  view.check(/status of 422/)
  view.complaints.length = 0
})

test('a table is altered by forms, and its rights are shown', async () => {
  const { page } = view
  await page.getByRole('link', { name: 'Structure' }).click()
  await page.getByRole('button', { name: 'Add a column' }).click()
  await page.getByLabel('Name', { exact: true }).fill('at')
  await page
    .getByRole('textbox', { name: 'Type' })
    .or(page.getByRole('combobox', { name: 'Type' }))
    .fill('Timestamp')
  assert.equal(await page.locator('dialog .code pre').textContent(), 'ALTER TABLE notes ADD COLUMN at Timestamp')
  await page.getByRole('button', { name: 'Run' }).click()
  await page.getByRole('cell', { name: 'Timestamp' }).waitFor()
  await page.getByRole('button', { name: 'Change', exact: true }).click()
  await page.getByLabel('Who can read').selectOption({ label: 'Read market data (Platform/Market)' })
  // Columns and what is known of the caller are completed in the row filter.
  await page.locator('.filter-editor .cm-content').click()
  await page.keyboard.type('bo')
  await page.getByRole('option', { name: /^body/ }).click()
  await page.keyboard.type(' = :')
  for (const name of [/^:username/, /^:roles/, /^:attribute\.desk/]) await page.getByRole('option', { name }).waitFor()
  await page.getByRole('option', { name: /^:attribute\.desk/ }).click()
  assert.equal(
    await page.locator('dialog .code pre').textContent(),
    "ALTER TABLE notes SET READ SCOPE 'Platform/Market' ROW FILTER (body = :attribute.desk)",
  )
  // Without it: nobody has the attribute, and the tests below write rows.
  await page.keyboard.press('Control+A')
  await page.keyboard.press('Delete')
  await page.getByText('Sign-in', { exact: true }).click()
  await page.getByLabel('Sign-in for reading', { exact: true }).waitFor()
  // Only a table on SQLite can have columns.
  const statement = () => page.locator('dialog .code pre').textContent()
  const columnar = page.getByRole('switch', { name: 'Keep the rows by column' })
  await columnar.click()
  assert.equal(await statement(), "ALTER TABLE notes SET READ SCOPE 'Platform/Market' WITH (columns = on)")
  await columnar.click()
  assert.equal(await statement(), "ALTER TABLE notes SET READ SCOPE 'Platform/Market'")
  assert.deepEqual(await view.axe(), [])
  await page.getByRole('button', { name: 'Run' }).click()
  await page.getByText('Changed the settings of notes').waitFor()
  await page.getByText('Kept by column').waitFor()
  assert.deepEqual(await view.axe(), [])
  view.check()
})

test('a retention says first what it deletes; a table is held, released and emptied of old rows', async () => {
  const { page } = view
  const admin = new Gatehouse(scene.server.issuer, { auth: password({ clientId: 'demo-cli', ...ADMIN }) })
  const ran = async (text: string) => (await admin.query(statement(text)).result()).rows
  await ran('CREATE TABLE logins (at Timestamp NOT NULL, id Integer, PRIMARY KEY (at, id))')
  await ran(`INSERT INTO logins VALUES ('2001-02-03', 1), ('2002-01-01', 2), ('${new Date().toISOString()}', 3)`)
  await page.goto(`${scene.server.issuer}/console/tables/logins/structure`)
  await page.getByText('for ever', { exact: true }).waitFor()
  await page.getByRole('button', { name: 'Change the retention' }).click()
  const code = page.locator('dialog .code pre')
  assert.equal(await code.textContent(), '-- incomplete')
  await page.getByRole('switch', { name: 'Delete old rows' }).click()
  await page.getByLabel('Rows are kept for').fill('30 years or so')
  await page.getByText('"30 years or so" is not an interval').waitFor()
  await page.getByLabel('Rows are kept for').fill('30 days')
  await page.getByText('2 rows will be deleted').waitFor()
  await page.getByText('Feb 3, 2001').waitFor()
  assert.equal(await code.textContent(), "ALTER TABLE logins SET WITH (retention = '30 days' ON at)")
  assert.deepEqual(await view.axe(), [])
  await page.getByRole('button', { name: 'Run' }).click()
  await page.getByText('Changed the retention of logins').waitFor()
  await page.getByText('30 days, by at').waitFor()
  await page.getByText('Closed before').waitFor()
  await page.getByRole('button', { name: 'Delete what is too old now' }).click()
  await page.getByText(/Deleted: 2 rows|No row is too old/).waitFor()
  assert.deepEqual(
    (await ran('SELECT id FROM logins')).map(({ id }) => Number(id)),
    [3],
  )
  await page.getByRole('button', { name: 'Hold', exact: true }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Hold', exact: true }).click()
  await page.getByText('no row can be deleted').waitFor()
  await page.getByText('when it is released').waitFor()
  assert.equal(await page.getByRole('button', { name: 'Delete what is too old now' }).count(), 0)
  assert.deepEqual(await view.axe(), [])
  await page.getByRole('button', { name: 'Release', exact: true }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Release', exact: true }).click()
  await page.getByText('no row can be deleted').waitFor({ state: 'detached' })
  await page.getByRole('button', { name: 'Change the retention' }).click()
  await page.getByRole('switch', { name: 'Delete old rows' }).click()
  await page.getByRole('button', { name: 'Run' }).click()
  await page.getByText('for ever', { exact: true }).waitFor()
  const create = 'CREATE MATERIALIZED VIEW login_days AS'
  await ran(`${create} SELECT time_bucket('1 day', at) AS day, count(*) AS n FROM logins GROUP BY day`)
  await page.goto(`${scene.server.issuer}/console/tables/login_days/structure`)
  await page.getByRole('button', { name: 'Change the retention' }).click()
  await page.getByRole('switch', { name: 'Delete old rows' }).click()
  await page.getByLabel('Rows are kept for').fill('2 years')
  assert.match(
    (await code.textContent()) ?? '',
    /^ALTER MATERIALIZED VIEW login_days SET WITH \(retention = '2 years' ON day\)$/,
  )
  await page.getByText('No row is deleted now').waitFor()
  assert.equal(await page.getByRole('button', { name: 'Hold', exact: true }).count(), 0)
  await page.getByRole('button', { name: 'Cancel' }).click()
  await ran('DROP MATERIALIZED VIEW login_days')
  await ran('DROP TABLE logins')
  admin.close()
  await page.goto(`${scene.server.issuer}/console/tables/notes`)
  view.check(/status of 400/)
  view.complaints.length = 0
})

test('a CSV file is previewed with its delimiter, dates and misfits, then imported', async () => {
  const { page } = view
  await page.getByRole('link', { name: 'Import' }).click()
  const lines = [
    'id;body;amount;at',
    '10;"a;b";1.5;31.01.2026',
    '11;"two\nlines";x;01.02.2026',
    '12;;90071992547409.9325;',
  ]
  await page.getByLabel('CSV file', { exact: true }).setInputFiles({
    name: 'notes.csv',
    mimeType: 'text/csv',
    buffer: Buffer.from(lines.join('\r\n')),
  })
  await page.getByText('Semicolon: 4 columns').waitFor()
  await page.getByText('1 of the first 3 rows do not fit').waitFor()
  await page.getByText('amount: "x" is not a number').waitFor()
  assert.equal(await page.getByLabel('Format of at').inputValue(), 'DD.MM.YYYY')
  assert.deepEqual(await view.axe(), [])
  await page.getByRole('button', { name: 'Import into notes' }).click()
  await page.getByText('2 rows inserted, 1 rejected').waitFor()
  await page.getByRole('link', { name: 'Rows', exact: true }).click()
  await page.getByRole('gridcell', { name: '90,071,992,547,409.9325' }).waitFor()
  await page.getByRole('gridcell', { name: 'a;b' }).waitFor()
  view.check()
})

test('an Arrow file is recognised by its first bytes, checked and imported as a whole', async () => {
  const { page } = view
  await page.getByRole('link', { name: 'Import' }).click()
  const rows = tableFromArrays({ id: Int32Array.from([10, 71]), body: ['from arrow 10', 'from arrow 71'] })
  await page.getByLabel('CSV file', { exact: true }).setInputFiles({
    name: 'notes.data',
    mimeType: '',
    buffer: Buffer.from(tableToIPC(rows, 'stream')),
  })
  await page.getByText('Arrow: all 2 rows fit.').waitFor()
  await page.getByRole('button', { name: 'Import into notes' }).click()
  await page.getByText('Nothing was imported: the key of a row is in the table').waitFor()
  await page.getByLabel('A row whose key is taken').selectOption('replace')
  await page.getByRole('button', { name: 'Import into notes' }).click()
  await page.getByText('1 row inserted, 1 replaced', { exact: true }).waitFor()
  assert.deepEqual(await view.axe(), [])
  await page.getByRole('link', { name: 'Rows', exact: true }).click()
  await page.getByRole('gridcell', { name: 'from arrow 71' }).waitFor()
  view.check(/409/)
})

test('a table is exported as a file', IN_LONG_RUNS, async () => {
  const { page } = view
  const download = page.waitForEvent('download')
  await page.getByRole('button', { name: 'Export' }).click()
  await page.getByRole('menuitem', { name: 'CSV' }).click()
  const file = await download
  assert.equal(file.suggestedFilename(), 'notes.csv')
  await page.getByText(/^Exported notes/).waitFor()
})

test('pages of rows follow each other by key as the grid is scrolled; the server sorts', async () => {
  const { page } = view
  await page.getByRole('link', { name: 'trades' }).click()
  await page.getByText('The first 500 rows; scroll for more').waitFor()
  await page.getByRole('gridcell').first().click()
  await page.keyboard.press('Control+End')
  await page.getByText('The first 1,000 rows; scroll for more').waitFor()
  await page
    .getByRole('columnheader', { name: /^price/ })
    .getByRole('button', { name: /^price/ })
    .click()
  await page.getByText('The first 500 rows; scroll for more').waitFor()
  await page.locator('[aria-rowindex="2"]').first().waitFor()
  assert.equal(await page.getByRole('columnheader', { name: /^price/ }).getAttribute('aria-sort'), 'ascending')
  assert.deepEqual(await view.axe(), [])
  view.check(/409/)
})

test('of many tables the tree shows a page at a time', IN_LONG_RUNS, async () => {
  const { page } = view
  const names = Array.from({ length: 130 }, (_, at) => `many_${String(at).padStart(3, '0')}`)
  const columns = [{ name: 'id', type: 'Integer', primarykey: true }]
  const { access_token: token } = await signIn(scene.server, ADMIN)
  const created = await fetch(`${scene.server.issuer}/Query/CatalogueTable/Insert`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: JSON.stringify(names.map((name) => ({ name, columns }))),
  })
  assert.equal(created.status, 200)
  await page.getByLabel('Find a table').fill('many')
  await page.getByRole('link', { name: 'many_099' }).waitFor()
  assert.equal(await page.getByRole('link', { name: /^many_/ }).count(), 100)
  await page.getByRole('button', { name: 'Show more tables' }).click()
  await page.getByRole('link', { name: 'many_129' }).waitFor()
  view.check(/409/)
})

test('a user without the right to write can read, and sees which right is missing', async () => {
  const alice = await scene.open('/tables/instruments', { user: ALICE, width: 390 })
  await alice.page.getByText('read only').waitFor()
  await alice.page.getByRole('gridcell', { name: 'ACME', exact: true }).waitFor()
  assert.equal(await alice.page.getByRole('button', { name: 'Add a row' }).count(), 0)
  assert.equal(await alice.page.getByRole('link', { name: 'Import' }).count(), 0)
  await alice.page.goto(`${scene.server.issuer}/console/tables?new`)
  await alice.page.getByText('You have no access to this area').waitFor()
  assert.deepEqual(await alice.axe(), [])
  alice.check()
})

test(
  'a read scope that the user lacks is warned of; the definition stays, and says what its rows need',
  IN_LONG_RUNS,
  async () => {
    const { page } = view
    await page.goto(`${scene.server.issuer}/console/tables?new`)
    await page.getByLabel('Name', { exact: true }).fill('a_vault')
    // What the form gives as an example of a row filter is one.
    await page.getByLabel('Name of column 2').fill('owner')
    await page.locator('.filter-editor .cm-content').click()
    await page.keyboard.type((await page.locator('.cm-placeholder').textContent()) ?? '')
    await page.getByLabel('Who can read').selectOption('Platform/Market')
    assert.equal(await page.getByText('you will not see its rows').count(), 0)
    await page.getByLabel('Who can read').selectOption('desk:nobody')
    await page.getByText('you will not see its rows').waitFor()
    assert.deepEqual(await view.axe(), [])
    await page.getByRole('button', { name: 'Create the table' }).click()
    await page.getByText('Its rows need the scope desk:nobody').waitFor()
    await page.getByRole('cell', { name: 'id key' }).waitFor()
    await page.locator('.tree').getByRole('link', { name: 'a_vault' }).waitFor()
    for (const name of ['Rows', 'Import'])
      assert.equal(await page.getByRole('link', { name, exact: true }).count(), 0, name)
    assert.equal(await page.getByRole('button', { name: 'Export' }).count(), 0)
    assert.deepEqual(await view.axe(), [])
    // The definition can be mended.
    await page.getByRole('button', { name: 'Change', exact: true }).click()
    await page.getByRole('dialog').getByText('you will not see its rows').waitFor()
    await page.getByLabel('Who can read').selectOption('')
    await page.getByRole('button', { name: 'Run' }).click()
    await page.getByRole('link', { name: 'Rows', exact: true }).click()
    await page.getByText('There are no rows').waitFor()
    await page.getByRole('link', { name: 'Structure' }).click()
    await page.getByRole('button', { name: 'Drop the table' }).click()
    await page.getByRole('button', { name: 'Drop', exact: true }).click()
    await page.getByRole('link', { name: 'a_vault' }).waitFor({ state: 'detached' })
    view.check(/409/)
  },
)

test('a view shows its rows and its query, and nothing to change them with', IN_LONG_RUNS, async () => {
  const { page } = view
  const { access_token: token } = await signIn(scene.server, ADMIN)
  const created = await fetch(`${scene.server.issuer}/query`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'text/plain' },
    body: "CREATE VIEW zinc COMMENT 'Large trades' AS SELECT id, symbol, price FROM trades WHERE quantity >= 100",
  })
  assert.equal(created.status, 200, await created.text())
  await page.goto(`${scene.server.issuer}/console/tables/zinc`)
  await page.getByText('view', { exact: true }).first().waitFor()
  await cell(0, 0).waitFor()
  assert.equal(await page.getByRole('button', { name: 'Add a row' }).count(), 0)
  assert.equal(await page.getByRole('button', { name: 'Delete' }).count(), 0)
  await page.getByRole('link', { name: 'Structure' }).click()
  await page.getByText('FROM trades').waitFor()
  assert.equal(await page.getByRole('button', { name: 'Add a column' }).count(), 0)
  assert.deepEqual(await view.axe(), [])
  await page.getByRole('button', { name: 'Drop the view' }).click()
  await page.getByRole('button', { name: 'Drop', exact: true }).click()
  await page.getByRole('link', { name: 'zinc' }).waitFor({ state: 'detached' })
  view.check(/409/)
})
