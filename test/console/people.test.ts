/** People in the console, in a real Chromium: search, invitation, what is ended, roles, rights, and changes by others. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { Request } from 'playwright-core'
import { Gatehouse, password } from '../../packages/client/src/index.ts'
import { readPeople } from '../../packages/console/src/areas/people/pasted-people.ts'
import type { Page } from '../support/chromium.ts'
import { ADMIN, type ConsoleScene, openConsole, signInOn } from '../support/console.ts'
import { IN_LONG_RUNS } from '../support/engines.ts'

const PASSWORD = 'a long enough password'
let scene: ConsoleScene
let admin: Gatehouse

before(async () => {
  scene = await openConsole()
  admin = new Gatehouse(scene.server.issuer, { auth: password({ clientId: 'demo-cli', ...ADMIN }) })
  for (let index = 0; index < 60; index++)
    await admin.admin.users.create({
      username: `many-${String(index).padStart(2, '0')}`,
      name: `Person Number ${index}`,
    })
})
after(async () => {
  admin?.close()
  await scene?.stop()
})

/** The usernames in the list, when it has settled. */
function usernames(page: Page): Promise<string[]> {
  return page
    .locator('.table tbody td:first-child a')
    .evaluateAll((links) => links.map((link) => link.firstChild?.nodeValue ?? ''))
}

async function choose(page: Page, action: string): Promise<void> {
  await page.getByRole('button', { name: 'More actions' }).click()
  await page.getByRole('menuitem', { name: action }).click()
}

async function agree(page: Page, action: string): Promise<void> {
  await page.getByRole('dialog').getByRole('button', { name: action, exact: true }).click()
}

test('many people are invited from a pasted list; the list of users is filtered by role', async () => {
  assert.deepEqual(
    readPeople('Name;E-mail\nAda L;ada@example.com').map(({ username, name, fault }) => [username, name, fault]),
    [['ada', 'Ada L', undefined]],
  )
  const faults = readPeople('ada\nADA\nA B\nc, c@').map(({ fault }) => fault)
  assert.deepEqual(faults, [undefined, 'Twice in the list', 'No username or e-mail address', 'Not an e-mail address'])
  const view = await scene.open('/people/new/many')
  const { page } = view
  await page.getByRole('textbox', { name: 'People' }).fill('ada@example.com\nAlan Turing <alan@example.com>\nalice')
  await page.getByRole('checkbox', { name: /^trader/ }).check()
  await page.getByRole('button', { name: 'Invite 3 people' }).click()
  await page.getByText('2 invitations created.').waitFor()
  await page.getByRole('row', { name: /alan.*\/set-up/ }).waitFor()
  await page.getByRole('row', { name: /alice.*(taken|exists)/i }).waitFor()
  assert.deepEqual(await view.axe(), [])
  await page.goto(`${scene.server.issuer}/console/people`)
  await page.getByRole('combobox', { name: 'Role' }).selectOption('trader')
  await page.waitForURL(/people\?role=trader$/)
  await page.getByText('many-00').waitFor({ state: 'detached' })
  await page.getByRole('row', { name: /^ada/ }).waitFor()
  assert.deepEqual(await usernames(page), ['ada', 'alan', 'alice'])
  await page.getByRole('combobox', { name: 'Role' }).selectOption('admin')
  await page.getByRole('row', { name: /^admin.*just now/ }).waitFor()
  view.check(/status of 409/)
  for (const username of ['ada', 'alan']) await admin.admin.users.delete(username)
  await view.context.close()
})

test(
  'a search keeps its focus, drops answers that come too late, and is in the address; pages follow one another',
  IN_LONG_RUNS,
  async () => {
    const view = await scene.open('/people')
    const { page } = view
    await page.getByRole('button', { name: 'Show more' }).click()
    await page.getByText('many-59').waitFor()
    assert.equal((await usernames(page)).length, 62)

    // The answer to the first letter is held until that to the whole word is shown.
    let release = () => {}
    const released = new Promise<void>((resolve) => {
      release = resolve
    })
    let held = 0
    await page.route(/search=a(&|$)/, async (route) => {
      held++
      await released
      await route.continue().catch(() => {})
    })
    const search = page.getByRole('searchbox', { name: /^Search by username/ })
    const isFirst = { predicate: (request: Request) => /search=a(&|$)/.test(request.url()) }
    const asked = page.waitForEvent('request', isFirst)
    const settled = Promise.race([
      page.waitForEvent('requestfailed', isFirst),
      page.waitForEvent('requestfinished', isFirst),
    ])
    await search.press('a')
    await asked
    await search.pressSequentially('lic')
    await page.locator('tbody tr').nth(1).waitFor({ state: 'detached' })
    assert.deepEqual(await usernames(page), ['alice'])
    release()
    await settled
    await page.evaluate('new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve)))')
    assert.equal(held, 1)
    assert.deepEqual(await usernames(page), ['alice'])
    assert.equal(await search.inputValue(), 'alic')
    assert.equal(await search.evaluate((element) => element === element.ownerDocument.activeElement), true)
    await page.waitForURL(`${scene.server.issuer}/console/people?search=alic`)

    await page.getByRole('link', { name: 'Users', exact: true }).click()
    await page.getByText('many-00').waitFor()
    assert.equal(await search.inputValue(), '')
    await page.goBack()
    await page.getByText('many-00').waitFor({ state: 'detached' })
    assert.equal(await search.inputValue(), 'alic')

    await search.fill('nobody at all')
    await page.getByText('No user is called “nobody at all”').waitFor()
    await search.press('Escape')
    await page.getByText('many-00').waitFor()
    view.check()
    await view.context.close()
  },
)

test('an invited person opens the link elsewhere, chooses a password and is in the console', async () => {
  const view = await scene.open('/people/new')
  const { page } = view
  await page.getByLabel('Username').fill('invited')
  await page.getByLabel('Name', { exact: true }).fill('Ina Vited')
  await page.getByRole('checkbox', { name: 'trader' }).check()
  await page.getByRole('button', { name: 'Create the invitation' }).click()
  const link = (await page.locator('.one-time-link-url').textContent()) ?? ''
  assert.ok(link.startsWith(`${scene.server.issuer}/set-up?token=`))
  await page.locator('.qr path').waitFor()
  assert.deepEqual(await view.axe(), [])

  const context = await scene.browser.newContext()
  const guest = await context.newPage()
  await guest.goto(link)
  await guest.locator('#new_password').fill(PASSWORD)
  await guest.locator('#new-password-submit').click()
  await guest.getByText('Hello, Ina Vited.').waitFor()
  await guest.getByText('Online').waitFor()

  // The link is shown once, and listed as used.
  await page.goto(`${scene.server.issuer}/console/people/links`)
  await page.locator('tr', { hasText: 'invited' }).getByText('used').waitFor()
  assert.equal(await page.getByText('/set-up?token=').count(), 0)

  // What is done to them is felt at once.
  await page.getByRole('link', { name: 'invited' }).click()
  await choose(page, 'Sign out everywhere')
  await agree(page, 'Sign out everywhere')
  await page.getByText(/invited was signed out: 1 session, 1 grant and 1 streaming connection ended/).waitFor()
  await guest.getByRole('heading', { name: 'You are signed out' }).waitFor()
  await guest.goto(`${scene.server.issuer}/console`)
  await signInOn(guest, { username: 'invited', password: PASSWORD })
  await guest.getByText('Online').waitFor()
  await choose(page, 'Disable')
  await agree(page, 'Disable')
  await page.locator('.page-title').getByText('Disabled').waitFor()
  assert.equal(await page.getByRole('button', { name: 'Reset link' }).count(), 0)
  await guest.getByRole('heading', { name: 'You are signed out' }).waitFor()
  await choose(page, 'Enable')
  await page.getByText('invited can sign in again').waitFor()
  view.check()
  await Promise.all([context.close(), view.context.close()])
})

test('a link resets a password, and a new one can be demanded', IN_LONG_RUNS, async () => {
  await admin.admin.users.create({ username: 'forgetful', password: PASSWORD } as object)
  const view = await scene.open('/people/forgetful')
  const { page } = view
  await choose(page, 'Require a new password')
  await page.locator('.page-title').getByText('New password due').waitFor()
  await page.getByRole('button', { name: 'Reset link' }).click()
  await page.getByRole('dialog').getByText('chooses a new password').waitFor()
  assert.deepEqual(await view.axe(), [])
  await page.getByRole('button', { name: 'Done' }).click()
  await choose(page, 'Remove all second factors')
  await page.getByText('forgetful has no second factor').waitFor()
  await choose(page, 'Delete')
  const remove = page.getByRole('dialog').getByRole('button', { name: 'Delete' })
  assert.equal(await remove.isDisabled(), true)
  await page.getByLabel('Type “forgetful” to continue').fill('forgetful')
  await remove.click()
  await page.getByText('forgetful was deleted').waitFor()
  assert.equal(page.url(), `${scene.server.issuer}/console/people`)
  view.check()
  await view.context.close()
})

test('what another user changed meanwhile is not overwritten, but shown', async () => {
  await admin.admin.users.create({ username: 'shared', name: 'Before' })
  const view = await scene.open('/people/shared')
  const { page } = view
  await page.getByRole('button', { name: 'Edit' }).click()
  await page.getByLabel('Name', { exact: true }).fill('Mine')
  await admin.admin.users.update('shared', { name: 'Theirs' })
  await page.getByRole('button', { name: 'Save' }).click()
  await page.getByText('Another user has changed this in the meantime').waitFor()
  await page.locator('.facts').getByText('Theirs').waitFor()
  assert.equal((await admin.admin.users.get('shared')).name, 'Theirs')
  await page.getByRole('button', { name: 'Edit' }).click()
  await page.getByLabel('Name', { exact: true }).fill('Mine')
  await page.getByRole('button', { name: 'Save' }).click()
  await page.locator('.facts').getByText('Mine').waitFor()
  assert.equal((await admin.admin.users.get('shared')).name, 'Mine')
  await page.getByRole('button', { name: 'Change roles' }).click()
  await page.getByRole('checkbox', { name: 'trader' }).check()
  await page.getByRole('button', { name: 'Save roles' }).click()
  await page.getByText('shared has trader now').waitFor()
  assert.deepEqual((await admin.admin.users.get('shared')).roles, ['trader'])
  view.check(/status of 412/)
  await view.context.close()
})

test('a role says whom a change touches, and the rights of its holder follow', IN_LONG_RUNS, async () => {
  await admin.admin.roles.create({ name: 'desk', scopes: ['Platform/Market', 'Platform/News'] })
  await admin.admin.users.create({ username: 'holder', roles: ['desk'] })
  const view = await scene.open('/people/roles/desk')
  const { page } = view
  await page.getByText('1 user has this role').waitFor()
  await page.getByRole('link', { name: 'holder' }).waitFor()
  await page.getByRole('checkbox', { name: 'Platform/News' }).uncheck()
  await page.getByRole('button', { name: 'Save' }).click()
  await page.getByRole('dialog').getByText('1 user loses it at once').waitFor()
  await agree(page, 'Save')
  await page.getByText('The role desk was changed').waitFor()
  assert.deepEqual((await admin.admin.roles.get('desk')).scopes, ['Platform/Market'])
  await page.getByText('1 user has this role').waitFor()

  await page.getByRole('link', { name: 'holder' }).click()
  await page.getByRole('link', { name: 'See as this user' }).click()
  await page.locator('.facts').getByText('Read market data Platform/Market').waitFor()
  const trades = page.locator('tr', { has: page.getByRole('link', { name: 'trades', exact: true }) })
  assert.match((await trades.textContent()) ?? '', /select/)
  assert.doesNotMatch((await trades.textContent()) ?? '', /insert/)
  await page.getByText('QueryIdentify').waitFor()
  view.check()
  await view.context.close()
})

test('who is signed in is listed from everywhere, and can be ended', IN_LONG_RUNS, async () => {
  await admin.admin.users.create({ username: 'present', password: PASSWORD, roles: ['trader'] } as object)
  const guest = await scene.open('', { user: { username: 'present', password: PASSWORD } })
  await guest.page.getByText('Online').waitFor()
  const view = await scene.open('/people/signed-in/streams')
  const { page } = view
  await page.locator('tr', { hasText: 'present' }).getByRole('button', { name: 'Close' }).click()
  await agree(page, 'Close it')
  await guest.page.getByText('Disconnected').waitFor()
  await page.getByText('Browsers', { exact: true }).click()
  assert.deepEqual(await view.axe(), [])
  await page.locator('tr', { hasText: 'present' }).getByRole('button', { name: 'End' }).click()
  await agree(page, 'End the session')
  await page.getByText('The session of present was ended').waitFor()
  await page.locator('tr', { hasText: 'present' }).waitFor({ state: 'detached' })
  view.check()
  await Promise.all([guest.context.close(), view.context.close()])
})

test('dark and at 390 px, axe-core finds nothing and nothing is wider than the window', async () => {
  const pages = ['', '/new', '/alice', '/alice/rights', '/alice/access', '/roles/trader', '/links', '/providers/new']
  const view = await scene.open('/people', { dark: true, width: 390 })
  for (const path of pages) {
    await view.page.goto(`${scene.server.issuer}/console/people${path}`)
    await view.page.locator('.table, .section, .form, .empty').first().waitFor()
    assert.deepEqual(await view.axe(), [], path)
    assert.equal(await view.page.evaluate('document.documentElement.scrollWidth'), 390, path)
  }
  // The edge of the row of tabs fades.
  await view.page.goto(`${scene.server.issuer}/console/people/mail`)
  const { x, width } = (await view.page.locator('.tab[aria-current]').boundingBox()) ?? assert.fail('no tab')
  assert.ok(x + width <= 350, `the current tab ends at ${x + width}`)
  view.check()
  await view.context.close()
})

test(
  'an attribute is declared, a user gets values of it, and what is wrong with one is said',
  IN_LONG_RUNS,
  async () => {
    const view = await scene.open('/people/attributes/new')
    const { page } = view
    const show = (path: string) => page.goto(`${scene.server.issuer}/console${path}`)
    await page.getByLabel('Name', { exact: true }).fill('desk')
    await page.getByLabel('Several values').check()
    await page.getByLabel('Claim', { exact: true }).fill('sub')
    await page.getByRole('button', { name: 'Create the attribute' }).click()
    await page.getByText(/has a meaning already/).waitFor()
    assert.equal(await page.getByLabel('Claim', { exact: true }).getAttribute('aria-invalid'), 'true')
    await page.getByLabel('Claim', { exact: true }).fill('desk')
    await page.getByRole('combobox', { name: 'Scope' }).selectOption('profile')
    await page.getByRole('button', { name: 'Create the attribute' }).click()
    await page.getByText(':attribute.desk').waitFor()
    await show('/people/attributes')
    await page.getByRole('link', { name: 'desk', exact: true }).waitFor()
    await show('/people/alice')
    await page.getByRole('button', { name: 'Change attributes' }).click()
    await page.getByRole('textbox', { name: 'desk' }).fill('Rates\nFX\n')
    await page.getByRole('button', { name: 'Save attributes' }).click()
    await page.getByText('The attributes of alice were changed').waitFor()
    assert.deepEqual((await admin.admin.users.get('alice')).attributes, { desk: ['FX', 'Rates'] })
    view.check(/422/)
    await view.context.close()
  },
)

test(
  'a provider is declared and changed by form: a fault is shown at its field, and rules and requirements are rows',
  IN_LONG_RUNS,
  async () => {
    const view = await scene.open('/people/providers/new')
    const { page } = view
    const label = (name: string) => page.getByLabel(name, { exact: true })
    await label('Id').fill('corp')
    await label('Issuer').fill('http://id.example.com')
    await label('Client id').fill('gatehouse')
    await label('Client secret').fill('a secret of the provider')
    await label('Who gets a new account').selectOption('create')
    await page.getByRole('button', { name: 'Add a requirement' }).click()
    await label('Claim').fill('groups')
    await label('One of the values').fill('staff, gatehouse')
    await page.getByRole('button', { name: 'Create the provider' }).click()
    await page.locator('.fault').getByText('must begin with https://').waitFor()
    assert.equal(await page.locator(':focus').getAttribute('aria-invalid'), 'true')
    await label('Issuer').fill('https://id.example.com')
    await page.getByRole('button', { name: 'Create the provider' }).click()
    await page.getByText('/external/corp/callback').waitFor()

    await page.getByRole('button', { name: 'Add a rule' }).click()
    const rule = page.getByRole('group', { name: 'Rule 1' })
    await rule.getByLabel('Claim').fill('groups')
    await rule.getByLabel('Value').fill('fx')
    await rule.getByLabel('Gives').selectOption('role:trader')
    await label('Longest session').fill('7 days')
    await page.getByText('More', { exact: true }).click()
    await label('Other members, as JSON').fill('{"name": "x"}')
    await page.locator('.fault').getByText('name is not allowed here').waitFor()
    await label('Other members, as JSON').fill('{"trust_email": true}')
    assert.deepEqual(await view.axe(), [])
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByText('The provider corp was changed').waitFor()
    const { require, rules, lifetime, trust_email, provision } = await admin.admin.providers.get('corp')
    assert.deepEqual(
      { require, rules, lifetime, trust_email, provision },
      {
        require: { groups: ['staff', 'gatehouse'] },
        rules: [{ claim: 'groups', value: 'fx', role: 'trader' }],
        lifetime: '7 days',
        trust_email: true,
        provision: 'create',
      },
    )
    await page.getByRole('button', { name: 'Remove rule 1' }).click()
    await label('Longest session').fill('')
    const saved = page.waitForResponse((response) => response.request().method() === 'PATCH')
    await page.getByRole('button', { name: 'Save' }).click()
    assert.equal((await saved).status(), 200)
    const after = await admin.admin.providers.get('corp')
    assert.deepEqual([after.rules, after.lifetime], [undefined, undefined])
    view.check(/422/)
    await view.context.close()
  },
)
