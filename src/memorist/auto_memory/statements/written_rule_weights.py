"""The weights of `written_rule_score`, by `benchmarks/fit_written_rules.py`. Pure."""

from __future__ import annotations

THRESHOLD = 0.60
WEIGHTS = r"""
cue:can_you=-0.62 cue:contrast=-0.21 cue:deixis=-1.27 cue:identifier=0.55 cue:lets=-0.41
cue:moment=-0.61 cue:negated_order=1.31 cue:never_always=0.37 cue:number=0.32 cue:order=0.39
cue:passing=-1.24 cue:past=-0.86 cue:plural_process=1.06 cue:question=-0.77 cue:rule_verb=0.92
cue:screen=-1.31 cue:short=-0.78 cue:we=-1.01 cue:you=-0.29 end:ad=0.44 end:al=-0.32 end:an=-0.35
end:as=0.29 end:au=-0.61 end:be=-0.23 end:ce=0.23 end:ch=0.41 end:ct=0.36 end:da=-0.66 end:do=-0.40
end:ea=0.49 end:el=0.63 end:em=-0.22 end:en=0.66 end:er=-0.49 end:es=0.39 end:eu=-0.44 end:ex=0.51
end:ge=0.30 end:go=0.37 end:ha=-0.29 end:he=-0.39 end:ie=-0.28 end:in=-0.31 end:io=0.33 end:is=0.55
end:it=-0.23 end:la=-0.36 end:ll=0.22 end:na=-0.21 end:ng=0.50 end:or=-0.33 end:os=0.24 end:pe=0.22
end:pi=0.28 end:pr=-0.65 end:ps=-0.28 end:ro=-0.21 end:rt=-0.29 end:ry=0.22 end:ta=-0.35
end:te=0.35 end:to=0.70 end:ts=0.45 end:ue=-0.31 end:ul=-0.39 end:ve=0.33 end:ês=0.22 end:ón=-0.22
end:во=-0.21 end:да=0.48 end:ей=-0.85 end:ек=-0.29 end:ер=-0.49 end:ет=-0.21 end:ий=-0.34
end:ию=-0.22 end:ка=0.48 end:ми=0.35 end:му=-0.26 end:од=-0.22 end:ом=0.28 end:те=-0.20
end:しない=0.34 end:ること=0.22 end:成する=-0.21 end:装する=-0.29 end:避ける=0.31 form:1000~characters=-0.29
form:12~words=1.70 form:160~characters=-2.21 form:2~words=0.37 form:20~words=-0.63
form:30~words=-0.24 form:400~characters=-1.54 form:7~words=0.57 form:list=-0.37
form:not~first=-0.45 form:path=0.60 form:question=-1.83 form:quotation=2.20 pair:^_a=-0.21
pair:^_adicione=-0.25 pair:^_ajoute=-0.35 pair:^_bei=0.32 pair:^_commit=-0.46 pair:^_corrige=-0.23
pair:^_crea=-0.23 pair:^_crée=-0.23 pair:^_der=-0.66 pair:^_entferne=-0.25 pair:^_erstelle=-0.24
pair:^_evita=0.38 pair:^_evitar=0.23 pair:^_formatiere=0.22 pair:^_implement=0.27
pair:^_kannst=-0.22 pair:^_keine=0.26 pair:^_la=-0.22 pair:^_le=-0.28 pair:^_lies=-0.23
pair:^_mach=-0.52 pair:^_mantenha=0.35 pair:^_mantén=0.27 pair:^_mostrar=-0.34 pair:^_ne=0.48
pair:^_nimm=-0.21 pair:^_no=0.26 pair:^_não=-0.33 pair:^_prefiere=0.39 pair:^_sempre=0.54
pair:^_si=0.30 pair:^_tailwind=0.25 pair:^_toujours=0.54 pair:^_use=0.26 pair:^_utilise=-0.42
pair:^_utiliser=0.55 pair:^_utilize=0.22 pair:^_verifique=-0.21 pair:^_в=-0.28 pair:^_всегда=0.55
pair:^_добавь=-0.32 pair:^_исправь=-0.44 pair:^_напиши=-0.27 pair:^_перенеси=-0.30
pair:^_проверь=-0.33 pair:^_сделай=-0.27 pair:^_создай=-0.50 pair:^_страница=-0.60
pair:^_убери=-0.30 pair:^_こ=-0.23 pair:^_す=0.21 pair:^_コ=0.21 pair:^_ボ=-0.23 pair:^_保=0.22
pair:^_我=-0.21 pair:^_把=-0.33 pair:^_每=0.22 pair:^_给=-0.21 pair:^_表=-0.24 pair:^_避=0.24
pair:a_busca=-0.30 pair:adicionar_um=-0.45 pair:adicione_um=-0.23 pair:ajoute_un=-0.22
pair:an_$=-0.21 pair:antes_de=0.76 pair:api_$=0.28 pair:archivo_de=-0.31 pair:avant_de=0.51
pair:azul_$=-0.40 pair:bas_à=-0.22 pair:bleu_$=-0.27 pair:cache_$=-0.26 pair:cambio_lo=0.37
pair:claridad_sobre=0.33 pair:classe_orderservice=-0.34 pair:commit_$=-0.33 pair:complejidad_$=0.33
pair:conventional_commits=0.25 pair:crée_une=-0.21 pair:código_$=0.39 pair:dans_$=-0.23
pair:dans_le=-0.35 pair:das_menü=-0.45 pair:de_cada=0.22 pair:de_commit=0.36
pair:de_configuración=-0.31 pair:de_exportar=-0.23 pair:de_la=0.27 pair:de_las=-0.30
pair:de_prueba=-0.39 pair:de_resultados=-0.34 pair:den_export=-0.23 pair:den_fehler=-0.25
pair:den_parser=-0.54 pair:deutsch_$=0.28 pair:die_suche=-0.34 pair:direita_$=-0.24
pair:droite_$=-0.29 pair:e_faça=-0.21 pair:ein_skript=-0.23 pair:el_archivo=-0.32
pair:el_botón=-0.28 pair:el_cambio=0.37 pair:el_error=-0.25 pair:el_formulario=-0.40
pair:el_gráfico=-0.21 pair:el_readme=-0.24 pair:em_$=-0.26 pair:em_português=0.53 pair:en_$=-0.46
pair:en_bas=-0.22 pair:en_bleu=-0.27 pair:en_español=0.45 pair:en_français=0.41 pair:en_la=0.26
pair:encuentro_el=-0.51 pair:end_to=0.24 pair:español_y=0.23 pair:et_les=0.37 pair:explicite_$=0.34
pair:falla_el=-0.39 pair:formulario_$=-0.30 pair:formulário_$=-0.40 pair:français_$=0.30
pair:geben_$=0.31 pair:getuser_$=-0.48 pair:haz_commit=-0.20 pair:https_$=-0.32 pair:in_der=-0.44
pair:kannst_du=-0.22 pair:la_búsqueda=-0.30 pair:la_lisibilité=0.49 pair:la_page=-0.24
pair:la_página=-0.27 pair:la_solution=0.52 pair:le_cache=0.29 pair:le_formulaire=-0.32
pair:le_graphique=-0.23 pair:les_tests=-0.25 pair:main_$=0.29 pair:mit_der=-0.29 pair:moi_la=-0.28
pair:montre_moi=-0.31 pair:muéstrame_la=-0.42 pair:n'affiche_toujours=-0.21 pair:na_página=-0.21
pair:ne_jamais=0.29 pair:necessário_$=0.37 pair:no_encuentro=-0.51 pair:número_de=-0.34
pair:o_$=0.38 pair:o_arquivo=-0.31 pair:o_código=0.39 pair:o_filtro=-0.37 pair:option_$=-0.25
pair:opção_$=-0.32 pair:os_testes=-0.59 pair:português_$=0.22 pair:pr_$=-0.65 pair:prettier_$=0.28
pair:pull_request=0.44 pair:página_de=-0.23 pair:quand_on=-0.22 pair:que_la=-0.32 pair:que_o=0.21
pair:rechts_$=-0.31 pair:remote_$=0.22 pair:rien_$=-0.21 pair:sein_und=-0.28 pair:servidor_$=-0.35
pair:si_falla=-0.41 pair:sobre_la=0.23 pair:tabela_$=-0.27 pair:tailwind_css=0.27 pair:to_end=0.24
pair:total_$=-0.28 pair:toujours_rien=-0.21 pair:typescript_strict=0.26 pair:um_botão=-0.20
pair:um_campo=-0.41 pair:uma_função=-0.26 pair:un_botón=-0.28 pair:un_bouton=-0.28
pair:una_columna=-0.21 pair:una_función=-0.26 pair:una_nueva=0.25 pair:une_fonction=-0.31
pair:unten_rechts=-0.23 pair:use_a=-0.23 pair:utils_$=-0.27 pair:wenn_man=-0.28 pair:y_en=0.23
pair:zeig_mir=-0.31 pair:à_droite=-0.37 pair:в_$=-0.21 pair:в_последнем=-0.23 pair:вправо_$=-0.21
pair:всё_ещё=-0.21 pair:главной_странице=-0.24 pair:добавить_поле=-0.24 pair:ещё_ничего=-0.21
pair:кода_$=0.56 pair:коммите_$=-0.20 pair:могу_найти=-0.26 pair:на_главной=-0.24
pair:на_русском=0.40 pair:не_могу=-0.49 pair:не_показывает=-0.21 pair:никогда_не=0.37
pair:ничего_не=-0.21 pair:показывает_$=-0.21 pair:последнем_коммите=-0.23 pair:сервер_$=-0.49
pair:справа_внизу=-0.22 pair:форму_$=-0.26 pair:い_て=-0.24 pair:け_る=0.30 pair:こ_と=0.31
pair:こ_の=-0.23 pair:し_て=-0.52 pair:し_な=0.36 pair:す_べ=0.21 pair:て_$=-0.98 pair:て_の=0.21
pair:と_$=0.31 pair:と_し=0.22 pair:に_従=0.20 pair:は_英=0.29 pair:ら_変=0.33 pair:る_こ=0.22 pair:を_作=-0.23
pair:を_修=-0.34 pair:を_変=-0.24 pair:を_避=0.30 pair:キ_ュ=0.24 pair:ク_リ=-0.21 pair:ケ_ー=0.28
pair:コ_ー=0.42 pair:タ_ン=-0.34 pair:ッ_ク=0.25 pair:ド_リ=0.20 pair:ハ_ン=0.20 pair:ペ_ー=-0.24
pair:ボ_タ=-0.34 pair:リ_ン=0.20 pair:ル_ー=0.30 pair:ン_を=-0.32 pair:ン_グ=0.35 pair:ン_ト=0.33 pair:ン_ド=0.24
pair:ー_を=-0.30 pair:ー_ド=0.29 pair:ー_ハ=0.20 pair:ー_ル=0.30 pair:一_下=-0.32 pair:一_个=-0.28
pair:不_得=0.45 pair:个_功=0.32 pair:中_文=0.31 pair:代_码=0.47 pair:以_后=-0.35 pair:件_$=0.23 pair:优_先=0.27
pair:优_化=0.20 pair:使_用=0.79 pair:保_存=-0.25 pair:修_改=0.46 pair:修_正=-0.34 pair:先_别=-0.25
pair:前_に=0.40 pair:功_能=0.61 pair:加_一=-0.42 pair:口_$=-0.22 pair:回_答=0.22 pair:复_杂=0.26 pair:完_成=0.24
pair:循_环=-0.26 pair:必_ず=0.28 pair:必_要=0.34 pair:必_须=0.41 pair:忘_了=-0.39 pair:成_$=0.24
pair:成_す=-0.21 pair:成_后=0.33 pair:报_错=-0.21 pair:按_钮=-0.20 pair:接_口=-0.23 pair:搜_索=-0.27
pair:改_$=0.39 pair:改_成=-0.43 pair:文_件=0.24 pair:新_的=-0.21 pair:日_本=0.38 pair:旧_的=-0.26
pair:更_し=-0.43 pair:更_前=0.43 pair:本_語=0.38 pair:概_念=0.21 pair:正_す=-0.31 pair:每_个=0.25 pair:测_试=0.30
pair:添_加=0.28 pair:环_$=-0.26 pair:用_$=0.45 pair:用_中=0.30 pair:的_功=0.29 pair:确_保=0.26 pair:确_认=0.21
pair:禁_止=0.21 pair:简_洁=0.31 pair:統_一=0.26 pair:考_慮=0.27 pair:能_$=-0.34 pair:脚_本=0.22 pair:英_語=0.33
pair:表_示=-0.31 pair:装_す=-0.29 pair:要_用=-0.30 pair:规_则=0.27 pair:解_決=0.21 pair:語_で=0.54
pair:记_住=-0.27 pair:设_计=0.27 pair:超_过=0.28 pair:这_个=-0.39 pair:適_切=0.21 pair:遵_循=0.27 pair:避_け=0.31
pair:避_免=0.39 pair:需_要=-0.30 pair:页_面=-0.20 start:a=-0.21 start:ar=1.26 start:as=0.24
start:be=-0.31 start:ca=0.51 start:ea=-0.23 start:ei=0.32 start:en=0.51 start:er=0.70 start:ez=0.51
start:fe=-0.22 start:ge=-0.48 start:ha=0.35 start:he=-0.47 start:ie=-0.22 start:ir=0.25
start:is=-0.24 start:it=-0.44 start:la=-0.58 start:le=0.43 start:me=-0.36 start:mm=-0.22
start:mo=0.28 start:ne=0.39 start:no=0.26 start:nt=0.28 start:on=0.24 start:ra=-0.64 start:rn=0.40
start:rs=0.55 start:se=-0.40 start:si=0.30 start:ta=0.30 start:te=0.36 start:ue=-0.56
start:va=-0.29 start:za=0.40 start:ze=0.56 start:ão=0.29 start:ée=-0.23 start:én=0.27
start:ай=-0.27 start:в=-0.28 start:вь=-0.76 start:да=0.55 start:ли=-0.32 start:ни=-0.48
start:ри=-0.79 start:рь=-0.52 start:си=-0.30 start:ть=0.54 start:уй=-0.82 start:ца=-0.60
start:ши=-0.27 start:яй=-0.31 start:こ=-0.23 start:す=0.21 start:コ=0.21 start:ボ=-0.23 start:保=0.22
start:我=-0.21 start:把=-0.33 start:每=0.22 start:给=-0.21 start:表=-0.24 start:避=0.24 word:0=0.89
word:a=-1.33 word:actualiza=0.25 word:adicionar=-0.45 word:adicione=-0.25 word:afficher=-0.48
word:ajoute=-0.35 word:analyse=0.20 word:antes=0.76 word:antworten=0.44 word:api=0.36
word:archivo=-0.32 word:archivos=0.73 word:arquivo=-0.31 word:arquivos=0.29 word:as=0.22
word:astro=0.33 word:au=-0.42 word:aufgaben=0.54 word:avant=0.85 word:avec=-0.34 word:azul=-0.40
word:bas=-0.22 word:befolgen=0.61 word:bei=0.46 word:bestehende=0.29 word:bleu=-0.27
word:botão=-0.38 word:botón=-0.54 word:bouton=-0.39 word:brevemente=0.56 word:busca=-0.37
word:button=-0.21 word:búsqueda=-0.30 word:cada=0.43 word:cambio=0.81 word:cambios=0.21
word:campo=-0.61 word:change=-0.21 word:claramente=0.43 word:claridad=0.33 word:classe=-0.34
word:clés=0.23 word:code=1.19 word:columna=-0.21 word:com=-0.52 word:comentarios=0.47
word:comentários=0.42 word:commits=0.57 word:complejidad=0.33 word:con=-0.22
word:configuración=-0.31 word:configuration=-0.27 word:convenciones=0.22 word:conventional=0.25
word:corrige=-0.23 word:count=-0.41 word:crea=-0.23 word:crear=0.35 word:crée=-0.23 word:css=0.45
word:cuando=0.26 word:código=1.44 word:dans=-0.58 word:das=-0.79 word:dass=0.27 word:dateien=0.51
word:datos=-0.43 word:del=0.46 word:den=-0.73 word:der=-1.08 word:des=0.96 word:design=0.22
word:deutsch=0.37 word:dich=0.24 word:die=-2.03 word:direita=-0.24 word:do=0.37 word:doit=-0.22
word:dos=-0.59 word:droite=-0.37 word:ein=-0.26 word:eine=-0.29 word:einen=-0.34 word:ejemplos=0.24
word:el=-0.92 word:en=0.23 word:encuentro=-0.51 word:endpoint=-0.39 word:entferne=-0.25
word:entscheidungen=0.65 word:erro=-0.48 word:erstelle=-0.24 word:es=0.27 word:español=0.45
word:est=-0.68 word:estilo=0.21 word:está=-0.26 word:et=0.25 word:evita=0.43 word:evitar=0.23
word:excessive=0.34 word:existente=0.75 word:existentes=0.32 word:explicite=0.34 word:export=-0.24
word:exportar=-0.23 word:falla=-0.49 word:faça=-0.29 word:fehler=-0.44 word:fichier=-0.36
word:fichiers=0.24 word:filtro=-0.55 word:fonction=-0.31 word:for=0.40 word:formatiere=0.22
word:formulaire=-0.32 word:formular=-0.33 word:formulario=-0.50 word:formulário=-0.83
word:français=0.41 word:funciona=-0.34 word:funciones=0.21 word:funktion=-0.34 word:função=-0.26
word:für=0.53 word:geben=0.31 word:gere=-0.55 word:getuser=-1.44 word:graphique=-0.23
word:gráfico=-0.41 word:größer=-0.43 word:haz=-0.23 word:header=-0.23 word:https=-0.33 word:i=-0.25
word:im=0.32 word:implement=0.26 word:in=-0.31 word:jamais=0.29 word:javascript=0.28
word:kannst=-0.22 word:keine=0.26 word:kiss=0.23 word:konventionen=0.39 word:kurz=0.55
word:kurze=0.30 word:la=-1.57 word:le=-1.25 word:les=0.63 word:lies=-0.23 word:lisibilité=0.50
word:lo=0.45 word:login=-0.54 word:lugares=-0.30 word:mach=-0.52 word:main=0.23 word:man=-0.51
word:mantenha=0.35 word:mantén=0.27 word:me=-0.33 word:menu=-0.30 word:menü=-0.45
word:migration=-0.30 word:mir=-0.50 word:mit=0.35 word:moi=-0.42 word:montre=-0.31
word:mostrar=-0.56 word:mudanças=0.43 word:muéstrame=-0.44 word:n'affiche=-0.21 word:na=-0.21
word:ne=0.40 word:necessário=0.37 word:nicht=-0.22 word:nimm=-0.21 word:noch=-0.33
word:nombres=0.25 word:nuevas=0.36 word:não=-0.48 word:número=-0.34 word:o=-0.62 word:oder=0.39
word:ohne=0.67 word:on=-0.39 word:option=-0.29 word:opção=-0.32 word:orderservice=-1.03
word:os=-0.69 word:ou=0.52 word:output=0.21 word:page=-0.26 word:para=-0.48 word:parser=-0.58
word:pas=0.28 word:performance=0.23 word:pipeline=-0.33 word:plan=-0.40 word:por=-0.35
word:português=0.53 word:pour=-0.25 word:pr=-0.97 word:prefiere=0.39 word:prettier=0.45
word:proper=0.24 word:prueba=-0.39 word:pruebas=0.21 word:pull=0.43 word:página=-0.72
word:readme=-1.37 word:rechts=-0.45 word:relance=-0.55 word:relevante=0.43 word:remote=0.21
word:repository=0.26 word:request=0.46 word:resultados=-0.34 word:reutiliza=0.23 word:rien=-0.21
word:schreiben=0.44 word:schritt=-0.34 word:script=-0.25 word:segunda=-0.32 word:sein=-0.38
word:sem=0.78 word:sempre=0.62 word:servidor=-0.35 word:si=0.50 word:sich=0.31 word:sie=1.01
word:skript=-0.23 word:sobre=0.39 word:soll=-0.61 word:solo=0.32 word:solution=0.55
word:sprache=0.33 word:statt=-0.22 word:strict=0.28 word:styling=0.27 word:suche=-0.49
word:tabela=-0.42 word:tailwind=0.29 word:templates=0.23 word:test=-0.84 word:teste=-0.77
word:tests=-0.54 word:the=-0.59 word:this=-0.27 word:tokens=0.22 word:total=-0.43
word:toujours=0.36 word:typescript=0.39 word:título=-0.24 word:um=-0.94 word:uma=-0.38
word:umbenennen=-0.38 word:un=-1.11 word:und=0.63 word:unten=-0.23 word:usa=-0.34 word:usar=0.39
word:utilise=-0.42 word:utiliser=0.55 word:utilize=0.22 word:utils=-0.49 word:verifique=-0.21
word:verwenden=0.39 word:we=-0.23 word:weg=0.40 word:wie=-0.40 word:wird=-0.47 word:y=0.35
word:zeig=-0.31 word:étape=0.30 word:без=0.93 word:быть=0.41 word:в=-0.29 word:внизу=-0.22
word:вправо=-0.21 word:все=0.98 word:всегда=0.55 word:всё=-0.21 word:главной=-0.24
word:график=-0.26 word:для=-0.46 word:добавить=-0.34 word:добавь=-0.48 word:должен=0.71
word:если=0.48 word:ещё=-0.91 word:задачи=0.38 word:и=0.26 word:исправь=-0.44 word:как=-0.55
word:кнопку=-0.47 word:код=0.81 word:кода=0.56 word:коммите=-0.23 word:коммиты=0.33 word:меню=-0.60
word:могу=-0.49 word:на=-0.31 word:найти=-0.26 word:напиши=-0.27 word:не=0.82 word:никогда=0.37
word:ничего=-0.21 word:новую=-0.29 word:перед=1.23 word:переименуй=-0.30 word:перенеси=-0.30
word:поиск=-0.37 word:покажи=-0.78 word:показывает=-0.21 word:показывать=-0.62 word:поле=-0.37
word:последнем=-0.23 word:пробела=0.36 word:проверь=-0.33 word:русском=0.40 word:с=0.53
word:сделай=-0.55 word:сервер=-0.49 word:справа=-0.60 word:столбец=-0.22 word:страница=-0.60
word:странице=-0.24 word:таблицу=-0.37 word:тест=-0.30 word:тесты=0.32 word:то=0.29
word:только=1.03 word:убери=-0.30 word:файл=-1.04 word:файла=0.78 word:фильтр=-0.21
word:форму=-0.43 word:функцию=-0.51 word:お=-0.23 word:が=-0.22 word:け=0.30 word:す=-0.21 word:ず=0.28
word:せ=-0.23 word:た=0.24 word:だ=-0.23 word:て=-0.61 word:で=0.57 word:と=0.51 word:な=0.49 word:は=1.20
word:や=0.53 word:ら=0.26 word:ん=-0.24 word:ア=0.27 word:ク=0.21 word:ケ=0.28 word:コ=0.65 word:ス=0.22
word:デ=0.29 word:ト=0.28 word:ド=0.65 word:ハ=0.20 word:バ=0.22 word:パ=0.24 word:フ=-0.45 word:ペ=-0.24
word:ボ=-0.34 word:ラ=-0.23 word:ン=0.51 word:一=-0.40 word:下=-0.38 word:个=-0.80 word:中=0.32
word:了=-0.70 word:二=-0.23 word:代=0.36 word:以=-0.28 word:件=0.43 word:优=0.47 word:住=-0.27 word:体=0.21
word:你=0.25 word:使=0.63 word:依=0.21 word:保=0.44 word:做=0.49 word:先=0.33 word:免=0.39 word:切=0.21
word:列=-0.26 word:则=0.27 word:删=-0.22 word:别=-0.33 word:到=-0.28 word:功=0.46 word:加=-0.28
word:务=-0.26 word:化=0.26 word:及=0.37 word:变=0.24 word:口=-0.32 word:只=0.23 word:可=0.28 word:右=-0.32
word:合=0.24 word:后=-0.21 word:含=0.25 word:和=0.41 word:器=-0.37 word:在=0.20 word:外=0.23 word:多=0.30
word:字=0.27 word:存=-0.31 word:定=0.45 word:実=0.22 word:对=0.23 word:小=0.26 word:建=0.23 word:得=0.31
word:必=1.07 word:忘=-0.39 word:念=0.21 word:性=0.46 word:情=0.25 word:慮=0.27 word:成=-0.32 word:户=-0.31
word:把=-0.53 word:按=-0.34 word:搜=-0.27 word:改=-0.25 word:数=-0.24 word:文=0.56 word:方=-0.24
word:日=0.35 word:旧=-0.26 word:时=0.47 word:明=0.38 word:是=-0.60 word:更=0.37 word:替=-0.21 word:最=0.24
word:有=0.24 word:期=0.23 word:本=0.69 word:杂=0.26 word:概=0.21 word:模=0.50 word:止=0.21 word:正=-0.29
word:決=0.21 word:洁=0.31 word:测=0.30 word:添=0.28 word:环=-0.26 word:画=-0.20 word:番=-0.24 word:看=-0.25
word:码=0.26 word:确=0.71 word:示=-0.35 word:禁=0.21 word:移=-0.27 word:第=-0.24 word:答=0.22 word:简=0.44
word:索=-0.40 word:統=0.26 word:给=-0.20 word:考=0.43 word:能=0.25 word:脚=0.22 word:英=0.36 word:表=-0.40
word:要=0.53 word:見=-0.24 word:规=0.27 word:解=0.47 word:語=0.73 word:记=-0.23 word:设=0.26 word:过=0.47
word:这=-0.80 word:进=0.20 word:述=0.28 word:选=-0.41 word:適=0.54 word:遵=0.27 word:避=0.70 word:都=-0.31
word:里=-0.35 word:钮=-0.20 word:错=-0.37 word:问=0.30 word:需=-0.29 word:面=-0.21 word:页=-0.60
word:须=0.41
"""
