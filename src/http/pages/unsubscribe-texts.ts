import type { Language } from '../../domain/opt-out-packs';

/** The texts of the pages behind an unsubscribe link, in the languages of the SMS keywords. */
export interface UnsubscribeTexts {
  dir: 'ltr' | 'rtl';
  /** On the buttons. */
  unsubscribe: string;
  resubscribe: string;
  ask: PageText;
  done: PageText & { mistake: string };
  undone: PageText;
  unknown: PageText;
  busy: PageText;
}

export interface PageText {
  title: string;
  text: string;
}

export const UNSUBSCRIBE_TEXTS: Record<Language, UnsubscribeTexts> = {
  en: {
    dir: 'ltr',
    unsubscribe: 'Unsubscribe',
    resubscribe: 'Subscribe again',
    ask: {
      title: 'Unsubscribe?',
      text: 'The address that this link was sent to will get no more emails from this sender.',
    },
    done: {
      title: 'You are unsubscribed',
      text: 'The address that this link was sent to gets no more emails from this sender. One that is on its way already may still arrive.',
      mistake: 'Was this a mistake?',
    },
    undone: {
      title: 'You are subscribed again',
      text: 'The address that this link was sent to may get emails from this sender again.',
    },
    unknown: {
      title: 'This link does not work',
      text: 'Part of it may be missing. Open it from the email once more, or answer the email.',
    },
    busy: { title: 'Too many tries', text: 'Please wait a minute and try again.' },
  },
  de: {
    dir: 'ltr',
    unsubscribe: 'Abmelden',
    resubscribe: 'Wieder anmelden',
    ask: {
      title: 'Abmelden?',
      text: 'Die Adresse, an die dieser Link ging, wird keine E-Mails dieses Absenders mehr erhalten.',
    },
    done: {
      title: 'Sie sind abgemeldet',
      text: 'Die Adresse, an die dieser Link ging, erhält keine E-Mails dieses Absenders mehr. Was schon unterwegs ist, kann noch ankommen.',
      mistake: 'War das ein Versehen?',
    },
    undone: {
      title: 'Sie sind wieder angemeldet',
      text: 'Die Adresse, an die dieser Link ging, kann wieder E-Mails dieses Absenders erhalten.',
    },
    unknown: {
      title: 'Dieser Link funktioniert nicht',
      text: 'Vielleicht fehlt ein Teil davon. Öffnen Sie ihn noch einmal aus der E-Mail, oder antworten Sie auf die E-Mail.',
    },
    busy: {
      title: 'Zu viele Versuche',
      text: 'Bitte warten Sie eine Minute und versuchen Sie es dann noch einmal.',
    },
  },
  es: {
    dir: 'ltr',
    unsubscribe: 'Darme de baja',
    resubscribe: 'Volver a suscribirme',
    ask: {
      title: '¿Darte de baja?',
      text: 'La dirección a la que se envió este enlace dejará de recibir correos de este remitente.',
    },
    done: {
      title: 'Te has dado de baja',
      text: 'La dirección a la que se envió este enlace ya no recibe correos de este remitente. Puede que aún llegue alguno que ya esté en camino.',
      mistake: '¿Ha sido un error?',
    },
    undone: {
      title: 'Vuelves a estar suscrito',
      text: 'La dirección a la que se envió este enlace puede volver a recibir correos de este remitente.',
    },
    unknown: {
      title: 'Este enlace no funciona',
      text: 'Puede que le falte una parte. Ábrelo otra vez desde el correo o responde al correo.',
    },
    busy: { title: 'Demasiados intentos', text: 'Espera un minuto y vuelve a intentarlo.' },
  },
  fr: {
    dir: 'ltr',
    unsubscribe: 'Me désabonner',
    resubscribe: 'Me réabonner',
    ask: {
      title: 'Vous désabonner ?',
      text: 'L’adresse à laquelle ce lien a été envoyé ne recevra plus d’e-mails de cet expéditeur.',
    },
    done: {
      title: 'Votre désabonnement est fait',
      text: 'L’adresse à laquelle ce lien a été envoyé ne reçoit plus d’e-mails de cet expéditeur. Un message déjà en route peut encore arriver.',
      mistake: 'Était-ce une erreur ?',
    },
    undone: {
      title: 'Votre abonnement est rétabli',
      text: 'L’adresse à laquelle ce lien a été envoyé peut de nouveau recevoir des e-mails de cet expéditeur.',
    },
    unknown: {
      title: 'Ce lien ne fonctionne pas',
      text: 'Il en manque peut-être une partie. Ouvrez-le de nouveau depuis l’e-mail, ou répondez à l’e-mail.',
    },
    busy: { title: 'Trop de tentatives', text: 'Attendez une minute, puis réessayez.' },
  },
  it: {
    dir: 'ltr',
    unsubscribe: 'Annulla l’iscrizione',
    resubscribe: 'Iscrivimi di nuovo',
    ask: {
      title: 'Annullare l’iscrizione?',
      text: 'L’indirizzo a cui è stato inviato questo link non riceverà più email da questo mittente.',
    },
    done: {
      title: 'Iscrizione annullata',
      text: 'L’indirizzo a cui è stato inviato questo link non riceve più email da questo mittente. Un messaggio già in viaggio può ancora arrivare.',
      mistake: 'È stato un errore?',
    },
    undone: {
      title: 'L’iscrizione è di nuovo attiva',
      text: 'L’indirizzo a cui è stato inviato questo link può ricevere di nuovo email da questo mittente.',
    },
    unknown: {
      title: 'Questo link non funziona',
      text: 'Forse ne manca una parte. Aprilo di nuovo dall’email, oppure rispondi all’email.',
    },
    busy: { title: 'Troppi tentativi', text: 'Attendi un minuto e riprova.' },
  },
  pt: {
    dir: 'ltr',
    unsubscribe: 'Cancelar a subscrição',
    resubscribe: 'Subscrever de novo',
    ask: {
      title: 'Cancelar a subscrição?',
      text: 'O endereço para o qual este link foi enviado deixará de receber e-mails deste remetente.',
    },
    done: {
      title: 'Subscrição cancelada',
      text: 'O endereço para o qual este link foi enviado já não recebe e-mails deste remetente. Um que já esteja a caminho ainda pode chegar.',
      mistake: 'Foi um engano?',
    },
    undone: {
      title: 'A subscrição está ativa de novo',
      text: 'O endereço para o qual este link foi enviado pode voltar a receber e-mails deste remetente.',
    },
    unknown: {
      title: 'Este link não funciona',
      text: 'Talvez falte uma parte. Abra-o de novo a partir do e-mail, ou responda ao e-mail.',
    },
    busy: { title: 'Demasiadas tentativas', text: 'Aguarde um minuto e tente de novo.' },
  },
  nl: {
    dir: 'ltr',
    unsubscribe: 'Afmelden',
    resubscribe: 'Weer aanmelden',
    ask: {
      title: 'Afmelden?',
      text: 'Het adres waarnaar deze link is gestuurd, zal geen e-mails van deze afzender meer krijgen.',
    },
    done: {
      title: 'U bent afgemeld',
      text: 'Het adres waarnaar deze link is gestuurd, krijgt geen e-mails van deze afzender meer. Wat al onderweg is, kan nog aankomen.',
      mistake: 'Was dit een vergissing?',
    },
    undone: {
      title: 'U bent weer aangemeld',
      text: 'Het adres waarnaar deze link is gestuurd, kan weer e-mails van deze afzender krijgen.',
    },
    unknown: {
      title: 'Deze link werkt niet',
      text: 'Misschien ontbreekt er een deel van. Open de link nog eens vanuit de e-mail, of beantwoord de e-mail.',
    },
    busy: { title: 'Te veel pogingen', text: 'Wacht een minuut en probeer het opnieuw.' },
  },
};
