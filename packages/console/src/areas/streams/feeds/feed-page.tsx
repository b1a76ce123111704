/** The page of one feed: its topics live, its definition, and the code to use it. */

import { read } from '../../../admin/requests.ts'
import { confirmAndAttempt, type Tagged, useTagged } from '../../../admin/tagged.ts'
import { gate, may } from '../../../gate.ts'
import { confirm } from '../../../shell/dialogs.tsx'
import { go, href } from '../../../shell/router.ts'
import { Await, Badge, Button, count, Empty, Menu, type MenuItem, Page, Tabs, useLoad } from '../../../ui/index.ts'
import { word } from '../../../ui/word.ts'
import { CodePage } from './code.tsx'
import { Definition } from './definition.tsx'
import {
  definitionPath,
  type FeedDefinition,
  type FeedInfo,
  infoOfDefinition,
  infoOfUsable,
  keepText,
  type UsableFeed,
} from './feed.ts'
import { Topics } from './topics.tsx'

interface Props {
  readonly name: string
  readonly part: string | undefined
  readonly query: URLSearchParams
}

const PARENTS = [{ title: 'Feeds', href: href('streams', 'feeds') }]

export function FeedPage(props: Props) {
  return may('Platform/Admin') ? <AdministeredFeed {...props} /> : <UsedFeed {...props} />
}

function AdministeredFeed(props: Props) {
  const tagged = useTagged<FeedDefinition>(definitionPath(props.name))
  const { data } = tagged
  if (data === undefined)
    return (
      <Page title={props.name} parents={PARENTS}>
        <Await of={tagged} title="This feed could not be loaded">
          {() => null}
        </Await>
      </Page>
    )
  return (
    <Frame {...props} info={infoOfDefinition(data)} menu={feedActions(tagged, data)}>
      {props.part === 'definition' ? <Definition key={JSON.stringify(data)} tagged={tagged} feed={data} /> : undefined}
    </Frame>
  )
}

function UsedFeed(props: Props) {
  const feeds = useLoad(
    async (signal) => (await read<{ items: readonly UsableFeed[] }>('/feeds', signal)).items,
    [props.name],
  )
  const found = feeds.data?.find(({ Name }) => Name === props.name)
  if (found !== undefined) return <Frame {...props} info={infoOfUsable(found)} />
  return (
    <Page title={props.name} parents={PARENTS}>
      <Await of={feeds} title="This feed could not be loaded">
        {() => (
          <Empty icon="lock" title={`There is no feed ${props.name} that you can use`}>
            It does not exist, or it needs a right that you do not have. An administrator can tell you which.
          </Empty>
        )}
      </Await>
    </Page>
  )
}

function Frame({
  name,
  part,
  query,
  info,
  menu,
  children,
}: Props & {
  readonly info: FeedInfo
  readonly menu?: readonly MenuItem[]
  /** In place of the topics. */
  readonly children?: preact.ComponentChildren
}) {
  const [topic, search] = [query.get('topic') ?? undefined, query.get('search') ?? undefined]
  const publishAt = href('streams', 'feeds', name, { topic, search, publish: topic ?? '' })
  const tabs = [
    { title: 'Topics', href: href('streams', 'feeds', name), current: part === undefined },
    ...(menu === undefined
      ? []
      : [{ title: 'Definition', href: href('streams', 'feeds', name, 'definition'), current: part === 'definition' }]),
    { title: 'Code', href: href('streams', 'feeds', name, 'code'), current: part === 'code' },
  ]
  return (
    <Page
      title={name}
      parents={PARENTS}
      afterTitle={
        <span class="badges feed-badges">
          <Badge>{info.class}</Badge>
          <span class="quiet">{`Keeps ${lowerFirst(keepText(info))}`}</span>
        </span>
      }
      full={part === undefined}
      actions={
        <>
          {info.mayPublish && (
            <Button kind="primary" icon="upload" aria-label="Publish a message" onClick={() => go(publishAt)}>
              Publish
            </Button>
          )}
          {menu !== undefined && <Menu label="More actions" items={menu} />}
        </>
      }
      bar={<Tabs label={name} tabs={tabs} />}
    >
      {part === 'code' ? (
        <CodePage info={info} topic={query.get('topic') ?? 'ACME'} />
      ) : (
        (children ?? <Topics info={info} query={query} />)
      )}
    </Page>
  )
}

function lowerFirst(text: string): string {
  return text.charAt(0).toLowerCase() + text.slice(1)
}

function feedActions(tagged: Tagged<FeedDefinition>, { name, usage }: FeedDefinition): readonly MenuItem[] {
  return [
    { title: 'Purge', icon: 'history', danger: true, act: () => void purge(name, tagged.reload) },
    { title: 'Delete', icon: 'trash', danger: true, act: () => void remove(tagged, name, usage?.topics) },
  ]
}

async function purge(name: string, onDone: () => void): Promise<void> {
  const isDone = await confirmAndAttempt(
    {
      title: `Purge ${name}?`,
      text: 'All messages are deleted: the state and history of every topic. The feed and its subscriptions remain. This cannot be undone.',
      action: 'Purge',
      typed: name,
    },
    () => gate.request(`${definitionPath(name)}/purge`, { method: 'POST' }),
    word(`${name} was purged`),
  )
  if (isDone) onDone()
}

function lossText(topics: number): string {
  if (topics === 0)
    return 'The feed and all its messages are deleted. Its subscriptions end at once. This cannot be undone.'
  return topics === 1
    ? 'The feed and all its messages, in 1 topic, are deleted. Its subscriptions end at once. This cannot be undone.'
    : `The feed and all its messages, in ${count(topics)} topics, are deleted. Its subscriptions end at once. This cannot be undone.`
}

async function remove(tagged: Tagged<FeedDefinition>, name: string, topics = 0): Promise<void> {
  const isAgreed = await confirm({
    title: `Delete ${name}?`,
    text: lossText(topics),
    action: 'Delete',
    danger: true,
    typed: name,
  })
  if (isAgreed && (await tagged.remove(word(`${name} was deleted`)))) go(href('streams', 'feeds'), { replace: true })
}
