/**
 * The words by which people stop, start and ask for help, by language, with our replies. A word counts in
 * whatever language the subscriber writes. English comes first, because every phone user may know its words.
 *
 * Words are written without accents and in lower case, as readKeyword() compares them. `phrases` mean stop
 * anywhere in a text. A reply is one segment of the GSM alphabet, which has few accents; a test checks this.
 */
export const LANGUAGES = ['en', 'de', 'es', 'fr', 'it', 'pt', 'nl'] as const;
export type Language = (typeof LANGUAGES)[number];

export interface LanguagePack {
  stop: readonly string[];
  phrases: readonly string[];
  start: readonly string[];
  help: readonly string[];
  texts: { stop: string; start: string; help: string };
}

export const PACKS: Record<Language, LanguagePack> = {
  en: {
    stop: [
      'stop',
      'stopall',
      'stop all',
      'unsubscribe',
      'cancel',
      'end',
      'quit',
      'revoke',
      'optout',
      'opt out',
    ],
    phrases: [
      'please stop',
      'stop texting',
      'stop messaging',
      'stop sending',
      'stop contacting',
      'opt me out',
      'want to opt out',
      'like to opt out',
      'wish to opt out',
      'unsubscribe me',
      'remove me',
      'take me off',
      'dont text',
      'do not text',
      'dont contact',
      'do not contact',
      'dont message',
      'do not message',
      'no more texts',
      'no more messages',
      'leave me alone',
    ],
    start: ['start', 'yes', 'unstop'],
    help: ['help', 'info'],
    texts: {
      stop: 'You will get no more messages from this number. Reply START to get them again.',
      start: 'You will get messages from this number again. Reply STOP to end them.',
      help: 'You get messages from this number because somebody you deal with sends them. Reply STOP to get no more.',
    },
  },
  de: {
    stop: ['stopp', 'abmelden', 'abmeldung', 'abbestellen', 'austragen', 'ende', 'kundigen', 'widerruf'],
    phrases: [
      'bitte stoppen',
      'bitte aufhoren',
      'melden sie mich ab',
      'melde mich ab',
      'keine sms mehr',
      'keine nachrichten mehr',
    ],
    start: ['anmelden'],
    help: ['hilfe'],
    texts: {
      stop: 'Sie erhalten keine Nachrichten von dieser Nummer mehr. Antworten Sie START, um sie wieder zu erhalten.',
      start: 'Sie erhalten wieder Nachrichten von dieser Nummer. Antworten Sie STOP, um sie zu beenden.',
      help: 'Jemand, mit dem Sie zu tun haben, schreibt Ihnen von dieser Nummer. Antworten Sie STOP, um nichts mehr zu erhalten.',
    },
  },
  es: {
    stop: ['alto', 'baja', 'cancelar', 'parar', 'detener', 'darme de baja'],
    phrases: [
      'por favor pare',
      'por favor paren',
      'no mas mensajes',
      'no quiero mas mensajes',
      'deme de baja',
      'denme de baja',
    ],
    start: ['alta', 'iniciar'],
    help: ['ayuda'],
    texts: {
      stop: 'Baja confirmada: ya no recibes mensajes de este remitente. Responde START para volver a recibirlos.',
      start: 'Vuelves a recibir mensajes de este remitente. Responde STOP para darte de baja.',
      help: 'Este remitente te escribe en nombre de alguien que te conoce. Responde STOP para no recibir nada de ahora en adelante.',
    },
  },
  fr: {
    stop: [
      'arret',
      'arreter',
      'arretez',
      'desabonner',
      'desabonnement',
      'desinscrire',
      'desinscription',
      'annuler',
    ],
    phrases: [
      'arretez de',
      'plus de messages',
      'plus de sms',
      'desabonnez moi',
      'desinscrivez moi',
      'retirez moi',
    ],
    start: ['reprendre', 'oui'],
    help: ['aide'],
    texts: {
      stop: 'Ce num\u00e9ro ne vous enverra plus de messages. R\u00e9pondez START pour en recevoir \u00e0 nouveau.',
      start:
        'Ce num\u00e9ro vous enverra de nouveau des messages. R\u00e9pondez STOP pour ne plus en recevoir.',
      help: 'Une personne ou une entreprise que vous connaissez vous \u00e9crit de ce num\u00e9ro. R\u00e9pondez STOP pour ne plus rien recevoir.',
    },
  },
  it: {
    stop: ['annulla', 'cancella', 'cancellami', 'disiscrivi', 'disiscrivimi', 'ferma', 'basta', 'disdici'],
    phrases: [
      'non scrivetemi',
      'non scrivermi',
      'niente piu messaggi',
      'cancellatemi',
      'rimuovetemi',
      'smettetela',
    ],
    start: ['inizia', 'riprendi'],
    help: ['aiuto'],
    texts: {
      stop: 'Non riceverai altri messaggi da questo numero. Rispondi START per riceverli di nuovo.',
      start: 'Riceverai di nuovo messaggi da questo numero. Rispondi STOP per non riceverli.',
      help: 'Ricevi questi messaggi da qualcuno con cui sei in contatto. Rispondi STOP per non riceverne altri.',
    },
  },
  pt: {
    stop: ['sair', 'pare', 'remover', 'descadastrar', 'cancele'],
    phrases: [
      'por favor parem',
      'chega de mensagens',
      'nao quero receber',
      'me remova',
      'me tire',
      'me descadastre',
    ],
    start: ['iniciar', 'voltar'],
    help: ['ajuda'],
    texts: {
      stop: 'Este remetente deixa de lhe enviar mensagens. Responda START para voltar a receber.',
      start: 'Este remetente volta a lhe enviar mensagens. Responda STOP para deixar de receber.',
      help: 'Este remetente escreve em nome de quem tem o seu contacto. Responda STOP para deixar de receber mensagens.',
    },
  },
  nl: {
    stop: ['stoppen', 'afmelden', 'uitschrijven', 'opzeggen', 'einde'],
    phrases: ['meld mij af', 'meld me af', 'schrijf mij uit', 'geen berichten meer', 'geen sms meer'],
    start: ['aanmelden', 'hervatten'],
    help: ['hulp'],
    texts: {
      stop: 'U krijgt geen berichten meer van dit nummer. Antwoord START om ze weer te ontvangen.',
      start: 'U krijgt weer berichten van dit nummer. Antwoord STOP om geen berichten meer te krijgen.',
      help: 'Iemand met wie u contact heeft schrijft u vanaf dit nummer. Antwoord STOP om niets meer te ontvangen.',
    },
  },
};
