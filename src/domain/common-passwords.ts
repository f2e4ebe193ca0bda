/**
 * Passwords that are tried first, because many people have chosen them. Length alone keeps out most of what is on
 * such lists; these are the commonest that are long enough, and the commonest words that people lengthen with
 * digits.
 */
export function isCommonPassword(password: string): boolean {
  const text = password.toLowerCase();
  const stem = text.replace(/^[^a-z]+|[^a-z]+$/g, '');
  return LONG.has(text) || STEMS.has(stem) || STEMS.has(repeated(text)) || repeated(text).length <= 4;
}

/** The shortest text whose repetition it is: `abc` for `abcabcabca`. */
function repeated(text: string): string {
  for (let length = 1; length < text.length; length += 1) {
    const piece = text.slice(0, length);
    if (text === piece.repeat(Math.ceil(text.length / length)).slice(0, text.length)) return piece;
  }
  return text;
}

const words = (list: string): ReadonlySet<string> => new Set(list.split(/\s+/).filter(Boolean));

const LONG = words(`
  010203040506 012345678910 014702580369 01telemike01 102030405060 1111111111zz 111222333000
  111222333444555 112233445566 122333444455555 123123qweqwe 123321123321 123321456654 123321qweewq
  123456654321 123456782000 1234567887654321 123456789000 12345678900987654321 123456789012
  1234567890987654321 1234567890qaz 1234567890qw 1234567890qwe 1234567890qwerty 1234567890zzz
  123456789101 123456789123 1234567892000 12345678987654321 123456789987654321 123456789abc
  123456789asd 123456789qaz 123456789qqq 123456789qwe 123456789qwer 123456789qwerty 123456789zxc
  1234567qwertyu 123456qwerty 1234qwerasdf 1234qwerasdfzxcv 123qwe123qwe 123qwe456rty 123qweasdzxc
  123qwerty123 12qw34er56ty 159753159753 159753456852 1a2s3d4f5g6h 1q2w3e4r5t6y 1qa2ws3ed4rf
  1qa2ws3ed4rf5tg 1qaz2wsx3edc 1qaz2wsx3edc4rfv 1qazxsw23edc 1qazxsw23edcvfr4 31217221027711
  32615948worms 41d8cd98f00b 4815162342lost 541233432442 59382113kevinp 742617000027 89231243658s
  89876065093rax a1s2d3f4g5h6 abc123456789 admin18533362 administrator amadeusptfcor an83546921an13
  andrewjackie antananarivu asdfgh123456 asdfghjkl123 auckland2010 avrillavigne bltynbabrfwbz
  boy4u2ownnyc bpgjldsgjldthnf chesterfield chickenwing101 christopher1 cjdthitycndj corperfmonsy
  cosmopolitan counterstrike devilmaycry4 digitalprodu dkflbvbhjdbx dkflbvbhjdyf finalfantasy
  fkmnthyfnbdf fktrcfylhjdbx fktrcfylhjdf fktrcfylhjdyf flvbybcnhfnjh frederiksberg fynfyfyfhbde
  gfhjkmgfhjkm ghbdtnghbdtn ghbdtnrfrltkf ghjcnjgbpltw ghjcnjgfhjkm ghjcnjghjcnj ghjcnjqgfhjkm
  ghjcnjrdfibyj ghjnbdjcnjzybt gjkysqgbpltw greenlantern gtnhjpfdjlcr hedimaptfcor iampurehaha2
  ilovemyfamily ingodwetrust installdevic installsqlst intelligence international iseedeadpeople
  jamesbond007 justinbieber leavemealone lhbjkjubz2957704 lost4815162342 lytghjgtnhjdcr
  maprchem56458 mevefalkcakk michaeljackson minecraft123 minnesota_hp morganstanley mortalkombat
  msorcloledbr needforspeed nemvxyheqdd5oqxyxyzi networkingpe nhecsyfujkjdt nhfdvfnjkju123
  nhfycajhvths nightcrawler nondriversig olcrackmaster ontheoutside p030710p$e4o paraklast1974
  peanutbutter philadelphia playstation2 playstation3 professional ptybnxtvgbjy punksnotdead
  q1w2e3r4t5y6 q1w2e3r4t5y6u7 q1w2e3r4t5y6u7i8 q1w2e3r4t5y6u7i8o9p0 qawsedrftgyh qaz123wsx456
  qazwsxedc123 qazwsxedcrfv qazwsxedcrfvtgb qazwsxqazwsx qazxswedc123 qazxswedcvfr qwaszxerdfcv
  qweasdzxc123 qwerasdfzxcv qwertasdfgzxcvb qwerty123456 qwerty123456789 qwertyasdfgh qwertyuiop10
  qwertyuiop12 qwertyuiop123 qwertyuiop12345 qwertyytrewq residentevil rfnthbyf1988 sanfrancisco
  saun24865709 scandinavian schoolgirlie seemnemaailm sojdlg123aljg sonnenschein sonyericsson
  specialinsta stickdaddy77 stinkyfinger stratocaster supernatural systemofadown thecakeisalie
  ticketmaster transformers unbelievable vfhbyfvfhbyf vfrcbvvfrcbv vfvfvskfhfve vladimirovna
  warhammer40k wazzkaprivet websolutions websolutionssu webuivalidat weihnachtsbau weihnachtsbaum
  whosyourdaddy xxxp455w0rd5 z1x2c3v4b5n6m7 zaq1xsw2cde3 zaqwsxcderfv zcfvfzkexifz zqjphsyf6ctifgu
  zxcasdqwe123 zxcvbn123456 zxcvbnm123456789
`);

const STEMS = words(`
  admin administrator changeme fanfare default login passwd password passwords passwort pass welcome
  access adidas angels apples arsenal asdfasdf asdfgh austin badboy banana barney baseball batman
  bigdaddy bigdog biteme boomer boston brandy bulldog buster camaro canada casper
  charlie cheese chelsea chester chicago chicken cocacola coffee compaq computer cookie corvette
  cowboy cowboys dakota dallas diablo diamond dragon eagles falcon fender ferrari fishing flower
  football forever freedom gandalf gateway gfhjkm ghbdtn ginger golden golfer guitar hammer hannah
  hardcore harley hockey hunter iceman iloveyou internet iwantu jasmine jasper jordan junior killer
  klaster lakers letmein liverpoo london madison maggie marina marine marlboro master matrix
  maverick mercedes merlin mickey midnight monkey monster mother muffin mustang nascar natasha
  nikita oliver orange panther panties peanut pepper phoenix player pokemon porsche prince princess
  purple qazwsx qwerty qwertyuiop rabbit raiders ranger rangers redsox samantha samsung scooby
  scooter secret shadow silver slayer slipknot smokey snoopy soccer sophie spanky sparky spider
  starwars steelers summer sunshine superman tennis thunder tigers tigger toyota welcome whatever
  winner winston winter wizard yamaha yankees yellow zxcvbn zxcvbnm
`);
