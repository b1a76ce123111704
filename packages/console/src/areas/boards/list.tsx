/** The list of boards: the user's own, and those shared by others. */
import { useState } from 'preact/hooks'
import { gate, user } from '../../gate.ts'
import { useCommands } from '../../shell/commands.ts'
import { go, href } from '../../shell/router.ts'
import { toast } from '../../shell/toasts.tsx'
import { Await, Badge, Button, Empty, Page, SearchField, Section, Time, useDelayed, useLoad } from '../../ui/index.ts'
import { NameDialog } from './dialogs.tsx'
import { type BoardDocument, createBoard } from './open-board.ts'
import { Thumbnail } from './thumbnail.tsx'

const PAGE = 100
const TYPING_MS = 200

export function BoardList() {
  const [text, setText] = useState('')
  const prefix = useDelayed(text.trim(), TYPING_MS)
  const [most, setMost] = useState(PAGE)
  const [isAsking, setAsking] = useState(false)
  const boards = useLoad((signal) => readBoards(prefix, most, signal), [prefix, most])
  useCommands(() => [
    { id: 'board-new', title: 'New board', group: 'Boards', icon: 'plus', act: () => setAsking(true) },
  ])
  const create = (
    <Button kind="primary" icon="plus" onClick={() => setAsking(true)}>
      New board
    </Button>
  )
  return (
    <Page
      title="Boards"
      actions={
        <>
          <SearchField label="Find by name" value={text} onValue={setText} />
          {create}
        </>
      }
    >
      <Await of={boards} title="The boards could not be loaded">
        {({ items, hasMore }) => {
          const [own, shared] = [items.filter(isOwn), items.filter((board) => !isOwn(board))]
          if (items.length === 0)
            return prefix === '' ? (
              <Empty icon="board" title="There are no boards yet" actions={create}>
                A board shows charts and tables side by side, and keeps them up to date.
              </Empty>
            ) : (
              <Empty icon="search" title="No board has this name">
                Search matches the beginning of a name.
              </Empty>
            )
          return (
            <>
              {own.length > 0 && <Boards title="Yours" boards={own} />}
              {shared.length > 0 && <Boards title="Shared with you" boards={shared} />}
              {hasMore && <Button onClick={() => setMost(most + PAGE)}>Show more</Button>}
            </>
          )
        }}
      </Await>
      {isAsking && (
        <NameDialog
          title="New board"
          action="Create"
          onClose={() => setAsking(false)}
          onSave={async (name) => {
            const { id } = await createBoard(name, { tiles: [] })
            toast(`“${name}” was created`)
            go(href('boards', id))
          }}
        />
      )}
    </Page>
  )
}

function Boards({ title, boards }: { readonly title: string; readonly boards: readonly BoardDocument[] }) {
  return (
    <Section title={title}>
      <ul class="board-cards" aria-label={title}>
        {boards.map(({ id, name, shared, owner, username, updated }) => (
          <li key={id} class="board-card">
            <Thumbnail id={id} />
            <a href={href('boards', id)}>{name}</a>
            <p class="board-card-facts quiet">
              <Sharing shared={shared} />
              {owner !== user.value?.sub && <span>{username ?? 'a former user'}</span>}
              <Time at={updated} as="relative" />
            </p>
          </li>
        ))}
      </ul>
    </Section>
  )
}

function Sharing({ shared }: Pick<BoardDocument, 'shared'>) {
  if (shared === 'private') return <span class="quiet">Private</span>
  return <Badge>{shared === 'everyone' ? 'Everyone' : shared.join(', ')}</Badge>
}

function isOwn({ owner }: BoardDocument): boolean {
  return owner === user.value?.sub
}

async function readBoards(prefix: string, most: number, signal: AbortSignal) {
  const items: BoardDocument[] = []
  const query = { kind: 'board', limit: String(PAGE), ...(prefix !== '' && { prefix }) }
  for await (const document of gate.saved.list(query, { signal })) {
    if (items.length === most) return { items, hasMore: true }
    if (document.kind === 'board') items.push(document)
  }
  return { items, hasMore: false }
}
