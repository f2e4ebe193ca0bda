/**
 * Every bound of the system, once, with its reason; long because there are many. Sizes are bytes, times carry their unit, the rest
 * are counts. docs/configuration.md lists the ones a caller can meet.
 */

const KiB = 1024;
const MiB = 1024 * KiB;

export const LIMITS = {
  // Requests (api.md 1)
  jsonBodyBytes: 1 * MiB,
  templateBodyBytes: 4 * MiB,
  bulkBodyBytes: 8 * MiB,
  /** A CSV import has no length limit, since it is streamed; a line has. */
  csvLineBytes: 64 * KiB,
  paramsKeys: 100,
  paramsKeyChars: 64,
  paramsValueBytes: 16 * KiB,
  uidChars: 128,
  idChars: 64,
  campaignTagChars: 64,
  campaignNameChars: 200,
  campaignLists: 100,
  bulkMessages: 1_000,
  contactsPerRequest: 10_000,
  importErrorsListed: 1_000,
  pageSizeDefault: 20,
  pageSizeMax: 100,
  longPageSizeMax: 1_000,
  /** Messages that one page of a list looks at, when what it is asked for is found by no index: some 0.2 s. */
  messagesLookedAt: 100_000,
  searchChars: 200,
  feedWaitSecondsMax: 20,
  sendAtYearsMax: 1,

  // Tokens and sessions (api.md 2, 3)
  tokenHoursDefault: 24,
  tokenHoursMax: 168,
  /** Of what is given as a token to be revoked; ours have 47. */
  tokenChars: 1_000,
  sessionIdleHours: 12,
  sessionDaysMax: 7,
  loginFailuresMax: 5,
  loginFailureWindowMinutes: 15,
  /** Of all clients of one address, which may be many behind one router. */
  clientFailuresPerAddressMax: 50,
  /** How stale a cached "this token is good" may be: a revoked one stops within this on every process. */
  authCacheSeconds: 4,
  /** From this age on it is read again in the background, so that no request in a steady stream waits for it. */
  authRefreshSeconds: 2,
  /** Credentials remembered per kind and process, and addresses whose failed log-ins are counted. */
  authCacheEntries: 10_000,
  /** How often a session in use writes that it was: often enough for a sliding end counted in hours. */
  sessionTouchSeconds: 60,
  passwordCharsMin: 12,
  passwordChars: 256,

  // Administration and Idempotency-Key (api.md 1, 11)
  /** Of each kind, in one workspace: users, clients, keys that work. */
  credentialsPerWorkspace: 1_000,
  /** Secrets of one client that work at the same time: the newest, and those it replaced. */
  clientSecretsMax: 5,
  secretOverlapHoursDefault: 24,
  secretOverlapHoursMax: 168,
  idempotencyKeyChars: 255,
  /** Kept for the promised day, and an hour more for clocks that differ. */
  idempotencyKeptHours: 25,
  /** A call that has not ended after this is taken for dead, and a repetition takes over. */
  idempotencyLeaseSeconds: 60,
  /** How often what has expired is cleared away, and how much of it in one statement. */
  expirySweepSeconds: 300,
  expirySweepRows: 1_000,

  // Templates
  templateNameChars: 200,
  /** RFC 5322's bound on a line of a header. */
  subjectChars: 998,
  /** Nesting of an editor's layout or flow: far above real ones, far below a stack overflow. */
  designDepth: 100,
  /** A voice document: 200 verbs of more than a minute's speech each. Bounds what every call is rendered to. */
  voiceXmlChars: 256 * KiB,
  /** api.md 5. The root is the first level. */
  voiceXmlDepth: 10,
  voiceVerbs: 200,
  /** A flow as JSON, the editor's own keys included; a copy goes out with every call (api.md 12). */
  voiceFlowChars: 512 * KiB,
  voiceFlowNodes: 500,
  voiceFlowEdges: 1_000,
  /** Findings listed about one document or flow; the last says how many more there are. */
  voiceFindings: 100,
  /** Blocks of an email layout, and how often one is drawn in all: the renderer takes 30 ms for as many. */
  layoutBlocks: 2_000,
  /** api.md 5. The root is at depth 0. */
  layoutDepth: 20,
  /** What is said about one layout: a list of a million wrong ids is not answered with a million findings. */
  layoutFindings: 500,
  /** Braces that look like a placeholder and are none, told of one template. */
  lintFindings: 50,
  /** 255 segments of 153 septets: what the header that joins segments can number (3GPP TS 23.040). */
  smsBodyChars: 39_015,
  /** An email's HTML with its values: as much as a template may be, and more than any mail client shows. */
  filledEmailChars: 4 * MiB,
  /** HTML that a library derives the text part from, its length and nesting; beyond, our own quick pass. */
  derivedTextChars: 128 * KiB,
  derivedTextDepth: 200,
  /** A message's own HTML from which a text part is derived for it alone: a millisecond's work. */
  ownBodyTextChars: 32 * KiB,
  ownBodiesKeptChars: 4 * MiB,
  /** Compiled versions kept in memory, together, counted in characters of their bodies. */
  templateCacheChars: 32 * MiB,
  templateCacheEntries: 10_000,

  // HTTP server
  /** A uid of full length with every character percent-encoded is 384; a link that unsubscribes the longest
   * address is longer. */
  pathParamChars: 512,
  httpHeadersTimeoutMs: 15_000,
  /** A silent connection is dropped after this; longer than the longest poll. */
  httpIdleTimeoutMs: 75_000,
  /** For a whole request: an import of a million rows over a slow line is one request. */
  httpRequestTimeoutMs: 3_600_000,
  /** For a body that is taken in whole, 8 MiB at most: more than 2 Mbit/s. */
  httpBodyMs: 30_000,
  /** Of a body that is refused for its length, what is read and thrown away so that its client reads the answer. */
  httpDiscardedBytes: 32 * MiB,
  /** Connections at once; each holds a socket and up to 8 MiB of body. */
  httpConnections: 5_000,
  /** How long requests in progress may finish while the server closes. */
  httpDrainMs: 3_000,

  // Progress streams (api.md 7)
  /** Open at once, in a process and for a workspace in it: a browser tab each, and each holds a connection. */
  progressStreams: 500,
  progressStreamsPerWorkspace: 50,
  /** A little less than the second that the contract allows, since a reading takes its time too. */
  progressTickMs: 750,
  /** What stands in between drops a connection that is silent for longer, often after 30 s. */
  progressHeartbeatMs: 15_000,
  /** Whoever watches with what was revoked meanwhile is put out after this (api.md 3). */
  progressRecheckMs: 5_000,
  /** Events waiting for a reader that takes none; it gets the newest when it reads on. */
  progressBacklogBytes: 16 * KiB,

  // Outbox and dispatch
  /** Undelivered due messages of class `marketing` of a workspace, beyond which send-msg answers 429. */
  outboxMessages: 20_000,
  /** The same for class `transactional`, counted apart, so that a campaign never costs its workspace a password reset. */
  outboxTransactionalMessages: 5_000,
  /** Campaigns offer messages up to this part of either bound, so that the workspace's own sends still have room. */
  outboxCampaignShare: 0.75,
  /** A campaign without room in the outbox waits for a lot of so many messages rather than offer a few at a time. */
  outboxLotMessages: 250,
  /** How often the service is asked for room while campaigns wait for it, once for all of a process and workspace. */
  outboxRoomPollMs: 200,
  /** A campaign's page waits so long for room; then it leaves its worker's place to others. */
  outboxRoomWaitMs: 3_000,
  /** Requests arriving together that share one insert: past a few hundred the insert is the whole cost. */
  groupCommitMessages: 1_000,
  /** Of some ten milliseconds that an insert and its answers take. */
  groupCommitLingerMs: 3,
  /** Messages in one hand-over batch; also what a crash can leave in doubt, per lane and provider. */
  handoverBatch: 500,
  /** A dispatcher that has not renewed its lane for so long is dead, and its lane is adopted. */
  laneLeaseSeconds: 10,
  laneRenewSeconds: 2,
  /** Rows that one statement deletes because they are too old: some milliseconds' worth. */
  retentionRows: 1_000,
  retentionPauseMs: 20,
  retentionSweepSeconds: 600,
  /** Senders of a workspace with limits of their own; every process has them all in memory. */
  senderLimits: 1_000,
  /** Longest silence that a provider's Retry-After puts on a sender; it is asked again then. */
  senderSilenceMs: 3_600_000,
  /** A call whose end nobody reported stops counting among a sender's after this; no call takes so long. */
  callLeaseSeconds: 900,
  /** Transient provider failures before a message is failed. */
  handoverAttempts: 8,
  /** Batches of one channel with their provider at once: a slow answer must not stop the others. */
  handoversInFlight: 4,
  /** Results of hand-overs are recorded after so long, or when there are so many; at most so many by one statement. */
  recordLingerMs: 100,
  recordResults: 200,
  recordResultsMax: 1_000,
  /** Results that may wait to be recorded before nothing more is opened: they are in doubt until then. */
  recordBacklog: 2_000,
  /** Messages are opened ahead of a provider's free places for about so long, so that none is idle meanwhile. */
  openAheadMs: 100,
  /** Of a provider's places, this part is kept for transactional messages while all others are taken. */
  transactionalReserve: 0.125,
  /** A provider that has not answered for so long never will: its batch is in doubt, its place is free. */
  handoverTimeoutSeconds: 120,
  /** Batches shrink until one lasts about this long, so that cancels are heeded as often and a crash leaves little in
   * doubt; but not below what keeps the provider busy. */
  handoverTargetMs: 400,
  /** After a carrier refused our account, the first wait until a single message is tried; each further one is half
   * as long again, up to the second number (api.md 12: within 30 s at first, and every 5 minutes at last). */
  accountPauseMs: 5_000,
  accountPauseMaxMs: 300_000,
  /** A message that is refused so while others are taken waits for so long. Nor does a carrier that refused fewer
   * than three messages get a longer pause: others must not wait for what may be wrong with these alone. */
  accountAloneMs: 20_000,
  /** Messages remembered that may be refused for their recipient's sake (404, 405). */
  accountSuspects: 10_000,
  /** How often due messages that nothing takes are looked through for those whose time is over (`expired` is told
   * within 5 s of it), and how many of them one statement ends. */
  expireWaitingMs: 2_000,
  expireWaitingRows: 1_000,
  /** Longest pause of a channel most of whose senders were asked to slow down. */
  throttlePauseMs: 15_000,
  /** At least so long between two batches of a channel that are not full: a statement for 100 messages costs
   * little more than one for 10. */
  handoverLingerMs: 40,
  /** The same for storing receipts. */
  receiptLingerMs: 40,
  /** So long receipts wait for their hand-over to be recorded by this process, looking so often: it is within
   * recordLingerMs, and to put a receipt aside and take it up again costs three statements. */
  receiptWaitMs: 300,
  receiptLookMs: 20,
  /** At least so long between two readings of a lane for retries and planned messages that fell due. */
  dueReadMs: 100,
  /** After this it is read from its oldest message again, in case one was passed over. */
  dueFullReadMs: 5_000,
  /** So often it is looked up which flows have messages, so that none waits for ever because of an oversight here. */
  dueLookUpMs: 30_000,
  /** Rendered text of one batch: templates can be large, and each message holds a copy of its own. */
  handoverChars: 16 * MiB,
  /** Marketing messages of a channel kept in memory between acceptance and hand-over, shared by its flows; the rest
   * wait in the table. A flow has so many at least: enough for its turns until the next reading. */
  queuedMessages: 5_000,
  queuedPerFlowMin: 50,
  /** Of each transactional flow. */
  queuedTransactional: 500,
  /** Flows that one statement reads. */
  queuedFlowsRead: 50,
  /** Their content, since a message may bring a body of its own. */
  queuedBytes: 64 * MiB,
  /** Requests waiting for their insert, in messages and in bytes of content: beyond it 503. */
  acceptQueueMessages: 10_000,
  acceptQueueBytes: 64 * MiB,
  /** Content of one insert. */
  groupCommitBytes: 4 * MiB,
  /** How soon a waiting reader of the feed sees what another process wrote. */
  feedPollMs: 200,
  /** Events kept with a message; a provider that tells more about one message is not listened to. */
  messageEvents: 100,
  /** Messages handed over a short while ago that are remembered for their receipts, some 0.5 KiB each. */
  receiptTargets: 20_000,
  /** Receipts waiting to be recorded; beyond it providers keep theirs until there is room. */
  receiptQueue: 20_000,
  /** An early receipt whose message never turned up is dropped after this. */
  orphanReceiptHours: 72,

  // Accounts at carriers (api.md 15)
  /** Of an installation: each has connections of its own in every process. */
  accounts: 200,
  /** The longest value of a setting or secret: several relays with their passwords stand in one. */
  accountValueChars: 8_000,
  accountHeaders: 20,
  accountWorkspaces: 1_000,
  /** A carrier may report later than that an account is gone. */
  deletedAccountDays: 7,
  routes: 1_000,
  routeAccounts: 20,
  /** How often a process asks whether an account or route was changed: well below the promised 5 s. */
  carriersPollMs: 2_000,
  /** A refused account that was made by the API is tried at least so often, because an owner changes it and watches. */
  accountProbeMs: 30_000,
  /** An account that throttles for so long without taking a message is passed over, where its route says so. */
  failoverThrottledMs: 60_000,
  /** How long `check` waits for a connection. */
  accountCheckMs: 5_000,

  // Webhooks out
  /** Endpoints of a workspace; each reads the event feed for itself. */
  webhooksPerWorkspace: 50,
  webhookUrlChars: 2_000,
  webhookPatterns: 50,
  webhookDescriptionChars: 500,
  /** Secrets of one endpoint that sign at the same time: each adds a signature to a header. */
  webhookSecrets: 5,
  webhookSecretOverlapHours: 24,
  /** Endpoints whose secrets one transaction seals anew at the start. */
  webhookSealRows: 200,
  /** Deliveries of one endpoint waiting to be made. Beyond it events stay in the feed. */
  webhookBacklog: 2_000,
  /** A look makes deliveries of new events for so long at most, before those that are due are sent. */
  webhookFanOutMs: 250,
  /** Endpoints beyond which it is asked first which of them have something due. */
  webhookRoomsUnasked: 10,
  /** Events of the feed that one statement makes deliveries of. */
  webhookFanOut: 1_000,
  /** Requests at once to one endpoint: to one that answers promptly, to one of which nothing is known yet, to one
   * whose answers are late, and to one that has failed for a while. */
  webhookInFlight: 20,
  webhookInFlightNew: 2,
  webhookInFlightSlow: 4,
  webhookInFlightFailing: 1,
  /** From this on an answer is late. Half of the second that others may be delayed by (api.md 14). */
  webhookSlowMs: 500,
  /** Requests at once from one process: in each of two pools, prompt and slow (endpoint-rooms.ts), of those for one
   * workspace, and in all. More than both pools together, because a request that becomes late changes its pool. */
  webhookInFlightPool: 200,
  webhookInFlightWorkspace: 50,
  webhookInFlightAll: 600,
  /** How long an endpoint fails before it counts as failing. */
  webhookFailingMs: 5_000,
  /** For a whole attempt: the name, the connection, the answer. */
  webhookAnswerMs: 15_000,
  /** Who has not recorded an attempt after this is dead. */
  webhookLeaseMs: 45_000,
  /** Of an answer's body, and how much of it is kept for the owner to see. */
  webhookAnswerBytes: 16 * KiB,
  webhookAnswerKeptChars: 500,
  /** Longest silence that an endpoint's Retry-After puts on it. */
  webhookSilenceMs: 24 * 3_600_000,
  /** Failures for so long without one success, retries among them, disable an endpoint. */
  webhookFailingHours: 120,
  /** After so long without a success, the next one makes everything that waits due at once. */
  webhookRecoveredMs: 600_000,
  /** Between two looks for new events and due deliveries: with endpoints, and with none. */
  webhookLookMs: 250,
  webhookIdleLookMs: 2_000,
  /** Ended attempts are gathered for so long, to be recorded by one statement. */
  webhookLingerMs: 10,
  /** Phase changes of campaigns told in one go. */
  webhookCampaignEvents: 100,
  /** Ended deliveries that one call starts again. */
  webhookRedeliveries: 1_000,
  /** How long ended deliveries can be looked at and repeated: those that were taken, and those that were not. */
  webhookDeliveredDays: 3,
  webhookFailedDays: 30,
  // Opting out
  /** Of an inbound SMS, what is looked at for keywords: more than ten segments. */
  inboundTextChars: 1_600,
  /** How long an inbound SMS is known as told before; carriers give up within days. */
  inboundKeptDays: 30,
  /** An answer to a keyword that comes later than this surprises more than it helps. */
  replyWithinMinutes: 60,
  /** Answers to one person in a day: two machines that answer each other come to an end. */
  repliesPerDay: 10,
  /** How often answers that are owed still are looked for, and how many at once. */
  replySweepMs: 15_000,
  repliesAtOnce: 100,
  /** Workspaces that share a sender, for each of which one STOP is kept. */
  workspacesPerSender: 1_000,
  /** Senders that a process remembers to have noted. */
  sendersNoted: 10_000,
  /** Mail that failed for the moment on so many days of so many: the mailbox is given up. */
  softBounceDays: 5,
  softBounceWindowDays: 30,
  /** Of the form that unsubscribes. */
  unsubscribeBodyBytes: 4 * KiB,
  /** Of what a browser says of languages, which is rarely more than five of them. */
  acceptLanguageChars: 200,
  /** Changes by one link, and wrong links from one address, in a minute. */
  unsubscribesPerMinute: 20,
  wrongLinksPerMinute: 60,
  /** Links and addresses that are counted at once. */
  rateWindowKeys: 10_000,

  // Providers
  /** Receipts given to the product in one call. */
  receiptBatch: 500,
  /** What a carrier may say beside a receipt's type, as JSON, and the length of its own id of a message. */
  receiptDataChars: 16 * KiB,
  providerIdChars: 200,
  /** POSTs to one carrier at once: a carrier that takes 50 ms for an answer is given 4,000 messages a second. */
  httpProviderConnections: 200,
  /** With every answer that slow, the batches in flight still end within `handoverTimeoutSeconds`. */
  httpProviderAnswerMs: 20_000,
  httpProviderAnswerBytes: 64 * KiB,
  /** SMTP: what one connection carries before it is closed, as many relays would do themselves. */
  smtpMessagesPerConnection: 100,
  smtpConnectionsDefault: 5,
  smtpConnectionsMax: 200,
  /** Messages of a batch for each connection: enough that none is idle at its end, as a crash leaves them in doubt. */
  smtpBatchPerConnection: 8,
  /** For connecting, for greeting and encryption, and for the log-in: each. */
  smtpConnectMs: 10_000,
  /** From the first command to the verdict. A relay that takes longer may still take it: unknown. */
  smtpAnswerMs: 45_000,
  /** A message that has not begun so long after its batch is sent away. With the two above, the last one begun
   * ends within `handoverTimeoutSeconds`. */
  smtpBatchMs: 30_000,
  smtpReplyBytes: 64 * KiB,
  /** How messages are written: while a piece is left, the relay cannot have the whole. */
  smtpPieceBytes: 64 * KiB,
  /** Messages at once to one recipient's host, as many as large ones take from a good sender. */
  smtpPerDestination: 20,
  /** Hosts, and senders' domains, whose wishes are remembered. */
  smtpDestinations: 10_000,
  smtpSenders: 10_000,
  /** How long a host that asked for less is left alone: first, and when it says so again and again. */
  smtpSilenceFirstMs: 60_000,
  smtpSilenceMaxMs: 3_600_000,
  /** A message waits so long for its turn at a host that is being tried; then others have its connection. */
  smtpSlowWaitMs: 2_000,
  /** Refusals of a sender's domain in a row that are no accident. */
  smtpSenderRefusals: 3,
  smtpSenderPauseFirstMs: 60_000,
  smtpSenderPauseMaxMs: 1_800_000,
  smtpSenderTrialMs: 60_000,
  /** How long messages under way may finish while the provider closes. */
  smtpDrainMs: 3_000,
  /** Reports and unsubscribing mails: a report may bring back the whole message, of which the first part is read. */
  smtpInboundBytes: 10 * MiB,
  // Anybody may bring one, and what some of them take to be parsed grows with the square of their size.
  smtpInboundReadBytes: 64 * KiB,
  /** Of each part of a report: one about a single recipient has a few hundred. */
  smtpReportChars: 16 * KiB,
  smtpInboundConnections: 50,
  smtpInboundRecipients: 20,
  smtpInboundIdleMs: 30_000,
  /** However busy it keeps itself, or a few that whisper would keep all others out. */
  smtpInboundConnectionMs: 300_000,
  /** A centre that has not answered a PDU for so long has lost it, or its answer. */
  smppAnswerMs: 10_000,
  /** Silence after which a centre is asked whether it is there. */
  smppEnquireMs: 30_000,
  /** Between tries to bind again; each is a log-in, and centres lock accounts that try too often. */
  smppReconnectMinMs: 1_000,
  smppReconnectMaxMs: 60_000,
  /** How long a message waits for room in a window, and its further parts for a centre that says "later": with
   * the answer it is within `handoverTimeoutSeconds`. */
  smppWindowWaitMs: 10_000,
  smppFurtherPartsMs: 15_000,
  /** Longest validity that a centre is told: what is longer many refuse, and none tries for longer anyway. */
  smppValidityHours: 168,
  /** Destinations of long messages whose last reference is remembered. */
  smppReferences: 50_000,
  /** Parts remembered for their receipts, some 0.7 KiB each; the others are looked up. */
  smppPartIds: 20_000,
  /** Receipts and messages of subscribers not taken yet; beyond it a centre is told to come again. */
  smppDeliveries: 2_000,
  /** A receipt of nobody waits so long for the answers that were under way when it came. */
  smppEarlyMs: 1_000,
  /** When it is first looked whose a receipt is whose id nobody has read: most answers that were under way as it
   * came have been recorded by then. */
  lostIdFirstLookMs: 15_000,
  /** How long the ids of a long message's parts are kept: longer than centres try to deliver. */
  smsPartHours: 168,
  /** Long messages of subscribers that are being put together, and for how long. */
  inboundParts: 1_000,
  inboundPartsMs: 300_000,
  /** Part of a subscriber's message is acknowledged after this, since some centres send no other before. */
  inboundPartHoldMs: 2_000,
  /** POSTs to Kannel at once, how long its answer may take, and how much of it is read. */
  kannelConnections: 50,
  kannelAnswerMs: 20_000,
  kannelAnswerBytes: 16 * KiB,
  /** Messages whose receipts the simulator keeps in memory; the rest wait in its record. */
  simulatorReceipts: 20_000,
  /** The same for calls, since each keeps what its document came to: some KiB. */
  simulatorCalls: 4_000,
  /** Documents that the simulator keeps ready to run, and texts whose length it remembers. */
  simulatorDocumentsChars: 4 * MiB,
  simulatorSpokenTexts: 10_000,
  /** Calls with several documents that are made up at once, and how long all of a batch may wait for documents:
   * a fraction of what its hand-over may last. */
  simulatorCallsFollowed: 50,
  simulatorFollowMs: 30_000,

  // The durable run
  /** A shard's history grows with its recipients, so a shard is a slice that stays small. */
  recipientsPerShard: 25_000,
  shardsPerChannel: 16,
  /** Where recipients are due at hours of their own, a shard is frozen in one transaction: more of them keep it short. */
  shardsPerChannelByHours: 64,
  /** The first shard of a large audience, and each one twice the one before: the first stands within half a second. */
  firstShardContacts: 10_000,
  /** Contacts judged and frozen in one transaction: a tenth of a second's work, after which control is read. */
  audiencePieceContacts: 5_000,
  /** Pieces that a process freezes at once, in turn by run: each holds a connection and keeps a core busy. */
  audiencePiecesAtOnce: 2,
  /** Pages a shard sends at once: with two, one sends while the other waits for the server. */
  lanesPerShard: 2,
  /** Chunks that a process sends at once: two lanes keep both cores busy, and a few more hide what a service takes to
   * answer. No campaign has all of them, so that one whose service hangs leaves room. */
  pageWorkers: 8,
  pageWorkersPerCampaign: 6,
  /** Pages that a process has open at once. One that waits for its pace or its turn costs some kilobytes and a
   * heartbeat in 2.5 seconds; 50 campaigns of 400,000 recipients have as many. */
  pagesOpen: 1_600,
  /** Activities of calls in a process: one of each campaign that starts calls, and room for placing them. */
  voiceActivities: 500,
  /** Below this pace, recipients a second, a shard sends by one lane. */
  paceSecondLane: 500,
  /** The largest page, and the first of a shard; nextPageSize() shrinks it when the service is slow. */
  pageRecipients: 5_000,
  /** What one request carries, and what a crash leaves in doubt per lane. */
  chunkRecipients: 1_000,
  /** Single sends have no bulk: a chunk is smaller so that control and recording come as often. */
  singleChunkRecipients: 500,
  /** Requests at once to a service of which only the specification is known. */
  sendConcurrency: 50,
  /** And single sends to one that tells what it can do: ours stores what came together by one insert, and with 50
   * its database and its senders waited for each other a third of the time. */
  sendConcurrencyKnown: 200,
  /** History events before a workflow continues as new; the server suggests it at 4,096. */
  historyEvents: 3_000,
  /** How long a process that watches may be silent before another one watches, and for how many runs it looks at
   * once: more than happens in a second on two cores. */
  watchLeaseSeconds: 5,
  runLooksAtOnce: 5_000,
  /** A run that sleeps until a moment it knows looks no sooner than this after its last look. */
  lookMinMs: 250,
  /** Contacts without a value that a dry run names, and recipients whose values it holds at once. */
  dryRunOffenders: 100,
  dryRunPage: 500,
  /** Names of zones whose rules are kept: there are some 600, and a file full of nonsense has any number. */
  timeZoneNames: 2_000,
  /** Every week has the same hours, so that what is not allowed in two never is. */
  hoursSearchDays: 14,
  /** Contacts that creating a campaign looks at to warn of the hour: some milliseconds' worth. */
  warningSample: 1_000,
  /** Of one process: each holds a connection for seconds when the audience is large. */
  dryRunsAtOnce: 2,
  liveCallsDefault: 50,
  liveCallsMax: 10_000,
  /** Calls that find no place free ask again: so many of a run in a second for each place, and within these. Each
   * asking is written into a history, and of calls that last seconds some places would else stay empty. */
  placeAsksPerPlace: 0.5,
  placeAsksPerSecondMin: 2,
  placeAsksPerSecondMax: 200,
  /** The longest wait of one among very many, so that a bound that was raised is used within minutes. */
  placeWaitMs: 600_000,
  /** And while no call of the run begins, this part of the time since one did: a call that hangs for a day is asked
   * about some hundred times. */
  placeQuietShare: 0.05,
  placeQuietWaitMs: 1_800_000,
  /** A place that is free is kept for calls that are due to be dialled again, if not for longer. */
  placeKeptMinutes: 10,
  /** A call of which nothing was heard for so long since it was handed over has no place any more, whoever was to
   * end it: longer than any silence that is waited for. */
  callSilenceHours: 25,
  /** How often a call that its carrier could not place is asked for again, without counting, and when first; each
   * further wait is twice as long, up to eight times: three quarters of an hour in all. */
  carrierFaultsMax: 5,
  carrierFaultSeconds: 120,
  /** What is waited for a call's end beyond the ringing and the longest call, for receipts that come late. */
  callGraceSeconds: 60,
  /** Calls that the list of recipients shows of one, the latest ones. */
  callsListed: 20,
  /** Of a campaign's pace, messages a second; below one a day it is a pause, above this no limit at all. */
  paceMin: 1 / 86_400,
  paceMax: 100_000,
  /** Permits are taken for so long at once: what a crash or a pause can waste, and how even the pace is. */
  paceLotMs: 500,
  /** How far ahead permits are given: so that the next lot is on its way before it is due, and no further. */
  paceAheadMs: 1_000,
  /** Permits that nobody took in time are kept for so long, to make up for a late timer; no burst. */
  paceKeepMs: 250,
  /** An open page holds so much work at the run's pace; what it holds is reported as being sent. */
  pacePageMs: 3_000,
  /** A longer wait for a permit is the workflow's timer, and leaves the worker's place to others. */
  paceWaitMs: 30_000,
  /** How often control is read while permits are waited for. */
  paceLookMs: 200,
  /** Looks of all pages of a process that fall into so long are one statement: at most twenty a second. */
  paceGatherMs: 50,
  /** How long a send activity goes from page to page before its workflow writes down that it goes on. */
  sendRoundMs: 60_000,
  /** Within which the counts of a canceled campaign follow: until then its webhook waits for them. */
  canceledCountsSeconds: 60,
  /** How long a pause or a cancel, once it is written down, waits for the service to hold and the run to be told. */
  controlAnswerMs: 300,
  /** Due retries are waited for together, this part of the time since sending began: a few seconds after
   * minutes, and never longer than the second number, so that scattered retries cost few wake-ups. */
  gatherShare: 0.05,
  gatherMaxMs: 60_000,
  /** Recipients that one statement looks through for those to be retried. */
  retryFailedWindow: 20_000,
  /** Seconds over which a run's speed is measured, and how many are kept. */
  speedSeconds: 10,
  speedSlots: 16,
  /** A durable send whose receipt has not come so long after the service took it ends with what is known. */
  sendOutcomeHours: 24,
  /** How often a durable send looks for a word that was lost: at first, and at last. */
  sendLookSecondsMin: 20,
  sendLookSecondsMax: 3_600,
  /** Pauses of a durable send while nothing is taken from our account: the first, and the longest. */
  sendAccountSecondsMin: 30,
  sendAccountSecondsMax: 900,
  /** And while the service asks to slow down, beyond what it says itself. */
  sendThrottledSecondsMax: 60,
  /** Runs of those known to have a workflow that are launched again each minute, in turn: 6,000 an hour. */
  runsRelaunched: 100,
  /** Durable sends that one look for lost ones starts again. */
  sendsRelaunched: 1_000,
  /** How long a message that was handed over may be silent before the contact's next channel: nearly all receipts
   * of SMS come within a minute, those of email within ten, when a relay asked to come again. */
  fallbackAfterSecondsDefault: 600,
  /** Recipients that one statement looks at for whose turn it is: a few tenths of a second, on a busy machine. */
  turnsAtOnce: 2_000,
  /** Between two looks at whose turn it is, if the one before was quick; and the share of the time that looks take. */
  turnLookMs: 1_000,
  turnLookShare: 0.1,
  /** A shard whose recipients wait for their turn looks for them by itself after so long: the word may be lost. */
  turnWaitMs: 60_000,
  /** Stages that a campaign lists, and its gates: each gate is read with every stage in the campaign's detail. */
  releaseStages: 20,
  releaseGates: 10,
  /** A stage's wait: a month, as for all delays of a campaign. */
  stageWaitSecondsMax: 30 * 24 * 3_600,
  /** Recipients that wait for hours, a window or a retry hold their stage for so long after it has begun. */
  stageHeldMs: 3_600_000,
  /** Numbers that one transaction looks through for recipients of a stage: a tenth of a second. */
  stageRange: 10_000,
  /** So many are opened before the first of them are sent to. */
  stageOpenedAtOnce: 20_000,
  /** How late something may begin before its schedule says that it is left out: more than a restart takes, and
   * more than the two looks a minute apart that find what was lost. */
  misfireToleranceSeconds: 300,
  /** Occurrences of a campaign that go on side by side, at each recipient's own hour: of an hourly one there are 26. */
  occurrencesAtOnce: 30,
  /** Schedules that one look, once a minute, begins or compares with Temporal's, and how old such a look may get. */
  schedulesPerLook: 100,
  scheduleLookSeconds: 600,
  /** Occurrences missed by Temporal that it starts by itself; for a longer time it is the look that does. */
  scheduleCatchUpSeconds: 3_600,
  gatewayTimeoutMs: 30_000,
  /** How long something else may answer in the messaging service's place before a person is told: more than what
   * starts anew behind a proxy takes. */
  strangeServiceMs: 300_000,
  /** Of one answer of the messaging service: a page of a thousand events, each with what a carrier may say. */
  gatewayAnswerBytes: 32 * MiB,
  /** Connections of a process to PostgreSQL, which allows 100 in all by default: for the dispatcher, the feeds and a few
   * pages at once, and for requests that a caller waits for. */
  databaseConnections: 12,
  databaseRequestConnections: 6,
  /** A query without an answer for so long is asked after: how long that may take, and how often a pooler, which
   * cannot say what became of it, is believed that it still comes (ten minutes). */
  databaseAnswerMs: 20_000,
  databaseLookMs: 10_000,
  databaseUnsureLooks: 30,
  /** A transaction without a statement for so long belongs to a process that stands still: ours have milliseconds
   * between two, and seconds when a machine is at its limit. */
  databaseIdleInTransactionMs: 15_000,
  /** How long a starting process waits for a database or a Temporal server that is out of reach. */
  startupPatienceMs: 60_000,
  /** Pages of a hosted service's template list that are looked through: an end to a list that has none. */
  templatePages: 1_000,
  pageHeartbeatSeconds: 10,
  /** Between two tries of an activity, whatever the service asks for: meanwhile nobody can tell it that its run is
   * not to go on. */
  activityRetryMaxMs: 15_000,

  // Calls
  /** Of ringing: below it nobody reaches the telephone, and no exchange rings for longer. */
  ringSecondsMin: 5,
  ringSecondsMax: 600,
  /** Of a call once it is answered. With its ringing it ends within `callLeaseSeconds`, after which it would not
   * count among its sender's any more. */
  callSecondsMin: 5,
  callSecondsMax: 840,
  /** Without a wish of the sender's. */
  callSecondsDefault: 600,
  /** Of ringing without a wish: it ends before most mailboxes pick up. */
  ringSecondsDefault: 30,
  /** What one call is told to do, in all: a document of 200 verbs many times over, and an end to one in a circle. */
  callCommands: 2_000,
  /** Other documents that one call goes on with, in all; how much of each one's place its record keeps. */
  callDocuments: 30,
  callDocumentPlaceChars: 100,
  /** How long one may take, while the callee hears nothing, and its length: of as many characters as a template's. */
  callDocumentMs: 5_000,
  callDocumentBytes: 1 * MiB,
  /** Of HTTP's own redirections on the way to one. */
  callDocumentHops: 3,
  /** How long it is listened who answered; the detector has always decided by then. */
  callListenMs: 90_000,
  /** Of one call: keys told of, things said that its record keeps, and the characters of those. */
  callEntries: 30,
  callSaid: 50,
  callSaidChars: 4_000,
  // The workspace's policy
  policyCaps: 10,
  /** Of one cap; with the days, what is remembered of an address. */
  capMessages: 100,
  capDays: 30,
  /** On each channel. */
  allowedSenders: 1_000,
  /** Of one segment, so that the message itself still has most of one. */
  optOutTextChars: 80,
  /** Changes of a policy that are kept; a workspace that changes it more often is a program gone wrong. */
  policyVersions: 10_000,
  /** Recipients that one step looks through when a policy has changed: a page of their shard waits for it. */
  recallRange: 5_000,
  /** Runs and durable sends that are told of a new policy in one look; the others are in the next ones. */
  runsTold: 100,
  sendsTold: 1_000,
  /** How long after its end a run is asked for by itself; bounces and complaints come within days. What comes later
   * still is taken in with the workspace's next run. */
  lateOutcomeDays: 30,
  /** A reason for a stop is a line, shown with every campaign. */
  stopReasonChars: 500,
  /** How stale a service's copy of a policy may be. */
  policyCacheMs: 1_000,
  /** Messages to one recipient that a timeline shows: the last of them. */
  timelineMessages: 20,
  /** Entries of a page of it. */
  timelinePageMax: 200,
  /** Blocks of one contact's addresses: a sender each. */
  timelineBlocks: 100,
  /** Blocks that were lifted, of an address: whoever writes STOP and START in turn has the latest remembered. */
  liftedBlocks: 100,
  /** Addresses that one look, once a minute, forgets because nobody wrote to them for longer than any cap. */
  contactUsesForgotten: 10_000,

  // Explanations
  /** Messages that one request for stories names: twice those of a recipient who is told of at once. */
  storyUids: 40,
  /** Messages to one recipient that an explanation tells of: the last of them. */
  explainedMessages: 20,
  /** Beyond this the service is too slow for a person who waits, and the explanation does without it. */
  storyTimeoutMs: 2_000,
  /** Runs of a campaign in which an address is looked for, the newest: three years of a daily one. */
  explainedRuns: 1_000,
  /** Other recipients of the campaign that are the same person, the newest. */
  explainedOthers: 100,
  /** Times that a recipient remembers having been sent to again by `retry-failed`, the latest. */
  putBackTimes: 20,

  // Speech
  /** Of one text that is spoken: some six minutes. */
  speechTextChars: 5_000,
  /** What the engine may write for it: twelve minutes at its 22,050 Hz, for slow voices. */
  speechOutputBytes: 32 * MiB,
  /** The engine speaks some hundred times faster than a person; beyond this it hangs. */
  speechTimeoutMs: 10_000,
  /** Engines at once: they need a processor each, and the calls in progress need theirs. */
  speechProcesses: 2,
  speechWaiting: 1_000,
  /** Speech kept in memory: an hour and ten minutes of it. */
  speechCacheBytes: 64 * MiB,
  /** And on disk, if there is a directory for it. */
  speechDirectoryBytes: 512 * MiB,
  /** What metrics ask of the database is asked no more often, however many read them. */
  metricsQueryMs: 5_000,
} as const;
