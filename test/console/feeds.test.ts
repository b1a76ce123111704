/** Feeds and remote controllers in the area Streams of the console, in a real browser. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { feedSnippets } from '../../packages/console/src/areas/streams/feeds/snippets.ts'
import { itemTexts, memberTexts } from '../../packages/console/src/areas/streams/json-text.ts'
import { ADMIN, ALICE, type ConsoleScene, openConsole } from '../support/console.ts'
import { signIn } from '../support/demo-user.ts'
import { IN_LONG_RUNS } from '../support/engines.ts'

let scene: ConsoleScene
before(async () => {
  scene = await openConsole()
})
after(() => scene.stop())

/** As another program. */
async function publish(topic: string, data: string): Promise<void> {
  const { access_token: token } = await signIn(scene.server, ADMIN)
  const reply = await fetch(`${scene.server.issuer}/feeds/Quotes/${encodeURIComponent(topic)}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: data,
  })
  assert.equal(reply.status, 200)
}

test('a feed is declared, published to, followed live with all digits, and its topics are removed and purged', async () => {
  const view = await scene.open('/streams/new-feed')
  const { page } = view
  const row = (topic: string) => page.getByRole('row', { name: topic })

  await page.getByLabel('Name', { exact: true }).fill('Auth')
  await page.getByRole('button', { name: 'Declare', exact: true }).click()
  await page.locator('.fault', { hasText: 'built-in controller' }).waitFor()
  await page.locator('input:focus').fill('Quotes')
  await page.getByLabel('Keep a history of each topic').check()
  assert.equal(await page.getByLabel('Sign-in for reading', { exact: true }).isVisible(), false)
  await page.getByText('Sign-in', { exact: true }).click()
  await page.getByLabel('Sign-in for reading', { exact: true }).waitFor()
  assert.deepEqual(await view.axe(), [])
  await page.getByRole('button', { name: 'Declare', exact: true }).click()
  await page.getByText('No topics yet').waitFor()

  await page.getByRole('button', { name: 'Publish the first message' }).click()
  await page.getByLabel('Topic', { exact: true }).fill('ACME')
  await page.getByLabel('Data').fill('{"last": 1')
  await page.locator('.fault', { hasText: 'Not JSON' }).waitFor()
  await page.getByLabel('Data').fill('{"last":101.10}')
  await page.keyboard.press('Control+Enter')
  await page.locator('.notice.good', { hasText: /Published to ACME.*Position \S+/ }).waitFor()
  await row('ACME').getByText('{"last":101.10}').waitFor()

  await publish('NYSE/IBM', '{"last":9007199254740993}')
  await row('NYSE/IBM').getByText('{"last":9007199254740993}').waitFor()
  await publish('ACME', '{"last":102.50}')
  await row('ACME').getByText('{"last":102.50}').waitFor()
  await page.getByLabel('Search by prefix').fill('NY')
  await row('ACME').waitFor({ state: 'detached' })
  await page.getByLabel('Search by prefix').fill('None')
  await page.getByText('No topic begins with “None”').waitFor()
  await page.reload()
  await page.locator('.badge', { hasText: 'Live' }).waitFor()
  await page.getByLabel('Search by prefix').fill('')

  await page.getByRole('link', { name: 'ACME' }).first().click()
  const kept = page.locator('.feed-history summary code')
  await kept.nth(1).waitFor()
  assert.deepEqual(await kept.allTextContents(), ['{"last":102.50}', '{"last":101.10}'])
  assert.deepEqual(await view.axe(), [])
  await page.keyboard.press('Escape')
  await page.locator('.feed-panel').waitFor({ state: 'detached' })
  await page.locator('a:focus', { hasText: 'ACME' }).click()
  await page.getByRole('button', { name: 'Actions of the topic' }).click()
  await page.getByRole('menuitem', { name: 'Remove' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Remove' }).click()
  await row('ACME').waitFor({ state: 'detached' })

  await page.getByRole('button', { name: 'More actions' }).click()
  await page.getByRole('menuitem', { name: 'Purge' }).click()
  await page.getByLabel('Type “Quotes” to continue').fill('Quotes')
  await page.getByRole('dialog').getByRole('button', { name: 'Purge' }).click()
  await page.getByText('No topics yet').waitFor()
  view.check(/422/)
  await view.close()
})

test(
  'the definition is changed; who does not administer feeds sees and uses only what their rights allow',
  IN_LONG_RUNS,
  async () => {
    const admin = await scene.open('/streams/feeds/Quotes/definition')
    await admin.page.getByRole('button', { name: 'Edit' }).click()
    await admin.page.getByLabel('Who can read').selectOption('Platform/Market')
    await admin.page.getByLabel('Maximum age').fill('90 days')
    await admin.page.getByRole('button', { name: 'Save' }).click()
    await admin.page.locator('.fault', { hasText: 'from 1 second to 30 days' }).waitFor()
    await admin.page.getByLabel('Maximum age').fill('1 day')
    await admin.page.getByRole('button', { name: 'Save' }).click()
    await admin.page.getByText('At most 1,000 messages per topic, each for 1 day').waitFor()
    admin.check(/422/)

    const alice = await scene.open('/streams/feeds', { user: ALICE, width: 390 })
    const { page } = alice
    await page.getByRole('link', { name: 'Quotes' }).click()
    await page.getByText('No topics yet').waitFor()
    assert.equal(await page.getByRole('button', { name: /Publish|More actions/ }).count(), 0)
    await publish('ACME', '{"last":1}')
    await page.getByText('{"last":1}').waitFor()
    assert.ok(await page.evaluate('document.documentElement.scrollWidth <= innerWidth'), 'nothing is cut off')
    await page.getByRole('link', { name: 'Code' }).click()
    await page.getByText(`curl '${scene.server.issuer}/feeds/Quotes/ACME'`).waitFor()
    alice.check()
    await alice.close()

    await admin.page.getByRole('button', { name: 'More actions' }).click()
    await admin.page.getByRole('menuitem', { name: 'Delete' }).click()
    await admin.page.getByLabel('Type “Quotes” to continue').fill('Quotes')
    await admin.page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click()
    await admin.page.getByText('No feed is declared yet').waitFor()
    await admin.close()
  },
)

test(
  'a remote controller is declared, changed and removed; the name of another one is not taken over',
  IN_LONG_RUNS,
  async () => {
    const view = await scene.open('/streams/new-controller')
    const { page } = view
    const declare = async () => {
      await page.getByLabel('Name', { exact: true }).fill('Orders')
      await page.getByLabel('URL').fill('https://oms.test/gatehouse')
      await page.getByLabel('Topic 1', { exact: true }).fill('Place')
      await page.getByRole('button', { name: 'Declare', exact: true }).click()
    }
    await declare()
    await page.getByRole('link', { name: 'Declare a controller' }).click()
    await declare()
    await page.locator('.fault', { hasText: 'There is a controller Orders already' }).waitFor()
    await page.getByRole('button', { name: 'Cancel' }).click()
    await page.getByRole('link', { name: 'Orders' }).click()
    await page.getByRole('button', { name: 'Another topic' }).click()
    await page.getByLabel('Topic 2', { exact: true }).fill('Cancel')
    await page.getByLabel('Timeout').fill('2 hours')
    await page.getByRole('button', { name: 'Save' }).click()
    await page.locator('.fault').waitFor()
    await page.getByLabel('Timeout').fill('2 seconds')
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByText('Place, Cancel').waitFor()
    assert.deepEqual(await view.axe(), [])
    await page.getByRole('link', { name: 'Orders' }).click()
    await page.getByRole('button', { name: 'More actions' }).click()
    await page.getByRole('menuitem', { name: 'Remove' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Remove' }).click()
    await page.getByText('No remote controller is declared yet').waitFor()
    view.check(/422/)
    await view.close()
  },
)

test('parts of JSON are taken as they are written', () => {
  const text = '{ "a,b" : [1.50, {"x": "}"}], "c\\"": 9007199254740993 , "d":{} }'
  assert.deepEqual(
    [...memberTexts(text)],
    [
      ['a,b', '[1.50, {"x": "}"}]'],
      ['c"', '9007199254740993'],
      ['d', '{}'],
    ],
  )
  assert.deepEqual(itemTexts('[1, "a,]", [2, 3], {}]'), ['1', '"a,]"', '[2, 3]', '{}'])
  assert.deepEqual(itemTexts('[]'), [])
})

test('code names topics so that no character of them is lost', () => {
  const [curl, typescript, python] = feedSnippets('https://gate.test', 'Prices', "NYSE/it's")
  assert.match(curl?.publish ?? '', /^curl 'https:\/\/gate\.test\/feeds\/Prices\/NYSE%2Fit'\\''s'/)
  assert.match(typescript?.subscribe ?? '', /gate\.feed\('Prices'\)\.subscribe\("NYSE\/it's"\)/)
  assert.match(python?.publish ?? '', /"https:\/\/gate\.test\/feeds\/Prices\/NYSE%2Fit's"/)
})
