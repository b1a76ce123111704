/** One product: its definition, what it covers, its entitlements, and who has what of it now. */
import { useState } from 'preact/hooks'
import { AccessBadge, kindText, reasonText, statusText } from '../../admin/licences.tsx'
import { PagedTable } from '../../admin/list.tsx'
import { usePages } from '../../admin/pages.ts'
import { withQuery } from '../../admin/requests.ts'
import { attempt, confirmAndAttempt, type Tagged, useTagged } from '../../admin/tagged.ts'
import { gate, may } from '../../gate.ts'
import { confirm } from '../../shell/dialogs.tsx'
import { go, href } from '../../shell/router.ts'
import { toast } from '../../shell/toasts.tsx'
import { Await, Badge, Button, Empty, Page, Section, Tabs, Time } from '../../ui/index.ts'
import { CoverageDialog, CoverageTable } from './coverage.tsx'
import { Entitlements } from './entitlements.tsx'
import { EMPTY_PRODUCT, ProductForm, toMembers } from './product-form.tsx'
import { type Coverage, type Holder, type Product, productPath } from './types.ts'

const PARENTS = [{ title: 'Market data', href: href('market-data') }]

export function ProductPage({ name, part }: { readonly name: string; readonly part: string | undefined }) {
  const product = useTagged<Product>(productPath(name))
  const { data } = product
  const tabs = [
    { id: undefined, title: 'Product' },
    ...(may('Identity/Admin')
      ? [
          { id: 'entitlements', title: 'Entitlements' },
          { id: 'people', title: 'Who has what' },
        ]
      : []),
  ].map(({ id, title }) => ({
    title,
    href: id === undefined ? href('market-data', 'products', name) : href('market-data', 'products', name, id),
    current: id === part,
  }))
  return (
    <Page
      title={name}
      parents={PARENTS}
      afterTitle={data?.enabled === false && <Badge kind="danger">Off</Badge>}
      bar={<Tabs label={name} tabs={tabs} />}
      actions={
        data !== undefined && (
          <>
            <Button icon={data.enabled ? 'pause' : 'play'} onClick={() => toggle(product, data)}>
              {data.enabled ? 'Switch off' : 'Switch on'}
            </Button>
            <Button kind="danger" icon="trash" onClick={() => remove(data)}>
              Delete
            </Button>
          </>
        )
      }
    >
      {part === 'entitlements' ? (
        <Entitlements product={name} />
      ) : part === 'people' ? (
        <Holders product={name} />
      ) : (
        <Await of={product} title="This product could not be loaded">
          {(found) => <Definition product={product} found={found} />}
        </Await>
      )}
    </Page>
  )
}

function Definition({ product, found }: { readonly product: Tagged<Product>; readonly found: Product }) {
  const [isAdding, setAdding] = useState(false)
  const { covers = [] } = found
  return (
    <>
      <Section
        title="What it covers"
        about="Once a product covers a part, the rest is nobody’s until a product names it."
        actions={
          <Button icon="plus" onClick={() => setAdding(true)}>
            Add
          </Button>
        }
      >
        {covers.length === 0 ? (
          <p class="quiet">It covers nothing yet.</p>
        ) : (
          <CoverageTable
            covers={covers}
            onRemove={(index) =>
              void uncover(
                found,
                covers.filter((_coverage, at) => at !== index),
                product.reload,
              )
            }
          />
        )}
      </Section>
      <Section title="Terms">
        <ProductForm
          key={JSON.stringify(found)}
          given={found}
          action="Save"
          onSubmit={async (draft) => {
            await product.save(toMembers(draft))
            toast(`The product ${found.name} was changed`)
          }}
        />
      </Section>
      {isAdding && (
        <CoverageDialog
          onClose={() => setAdding(false)}
          onAdd={async (coverage) => {
            await product.save({ covers: [...covers, coverage] })
            toast('The coverage was added')
            setAdding(false)
          }}
        />
      )}
    </>
  )
}

async function uncover({ name }: Product, covers: readonly Coverage[], reload: () => void): Promise<void> {
  const isDone = await confirmAndAttempt(
    {
      title: 'Remove the coverage?',
      text: 'Where no other product covers it, everybody whose scopes allow it sees it in real time.',
      action: 'Remove',
    },
    () =>
      gate.request(withQuery(productPath(name), { free: 'true' }), {
        method: 'PATCH',
        headers: { 'if-match': '*', 'content-type': 'application/merge-patch+json' },
        body: { covers },
      }),
    'The coverage was removed',
  )
  if (isDone) reload()
}

async function toggle(product: Tagged<Product>, { name, enabled }: Product): Promise<void> {
  const isAgreed =
    !enabled ||
    (await confirm({
      title: `Switch ${name} off?`,
      text: 'Nobody has access to it from then on, and what is open ends within a second.',
      action: 'Switch off',
      danger: true,
    }))
  if (!isAgreed) return
  await product.change(
    { enabled: !enabled },
    enabled ? `The product ${name} was switched off` : `The product ${name} was switched on`,
  )
}

async function remove({ name }: Product): Promise<void> {
  const isAgreed = await confirm({
    title: `Delete the product ${name}?`,
    text: 'Its entitlements are deleted too. What no other product covers is no longer licensed: everybody whose scopes allow it sees it in real time.',
    action: 'Delete',
    danger: true,
    typed: name,
  })
  const path = withQuery(productPath(name), { free: 'true' })
  const work = () => gate.request(path, { method: 'DELETE', headers: { 'if-match': '*' } })
  if (isAgreed && (await attempt(work, `The product ${name} was deleted`))) go(href('market-data'), { replace: true })
}

function Holders({ product }: { readonly product: string }) {
  const holders = usePages<Holder>(`${productPath(product, 'subjects')}?limit=100`)
  return (
    <PagedTable
      of={holders}
      label="Who has what"
      rowKey={({ user }) => user}
      rowHref={({ user }) => href('people', user)}
      columns={[
        { title: 'User', cell: ({ username }) => username },
        { title: 'Access', cell: ({ access }) => <AccessBadge of={access} /> },
        { title: 'Why', cell: ({ reason }) => reasonText(reason) },
        { title: 'Until', wide: true, cell: ({ until }) => until !== undefined && <Time at={until} as="date" /> },
        { title: 'Counted as', wide: true, cell: ({ kind }) => kind !== undefined && kindText(kind) },
        { title: 'Status', wide: true, cell: ({ status }) => statusText(status) },
      ]}
      empty={<Empty icon="people" title="There are no users" />}
    />
  )
}

export function NewProduct() {
  return (
    <Page title="New product" parents={PARENTS}>
      <ProductForm
        given={EMPTY_PRODUCT}
        isNew
        action="Create the product"
        onSubmit={async (draft) => {
          await gate.request('/admin/products', { method: 'POST', body: withoutNulls(toMembers(draft)) })
          toast(`The product ${draft.name} was created`)
          go(href('market-data', 'products', draft.name))
        }}
      />
    </Page>
  )
}

function withoutNulls(members: object): object {
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== null))
}
